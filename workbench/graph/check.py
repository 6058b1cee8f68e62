"""All reasons why a graph cannot run, found in one pass without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from workbench.catalog.spec import Catalog, Device, OpSpec
from workbench.errors import GraphFaultsError
from workbench.graph.devices import infer_channels, infer_devices, port_kind
from workbench.graph.model import Graph, Node, Port, is_name, topological
from workbench.graph.values import value_fault

LARGEST_SEED = 10_000
"""Of a node; added to the graph's it must fit into DALI's 32 bits."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason. ``node`` and ``arg`` are empty where it is not theirs."""

    node: str
    arg: str
    message: str
    remedy: str

    def __str__(self) -> str:
        where = ".".join(part for part in (self.node, self.arg) if part)
        return f"{where + ': ' if where else ''}{self.message}. {self.remedy}"


def check_graph(graph: Graph, catalog: Catalog) -> tuple[Fault, ...]:
    """Every fault of the graph, those of the whole first, then in the order of the nodes."""
    faults = list(_whole(graph, catalog))
    devices = infer_devices(graph, catalog)
    channels = infer_channels(graph, catalog)
    for node in graph.nodes:
        if node.op not in catalog:
            near = get_close_matches(node.op, catalog, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            faults.append(
                Fault(
                    node.id,
                    "",
                    f"{node.op!r} is no operator of DALI {catalog.dali_version}",
                    f"{hint}Remove the node, or use a DALI that has it.",
                )
            )
            continue
        for part in (_arguments, _inputs):
            faults += part(node, graph, catalog)
        faults += _device(node, graph, catalog, devices)
        faults += _channels(node, catalog, channels)
    return tuple(faults)


def require_sound(graph: Graph, catalog: Catalog) -> None:
    """Raise GraphFaultsError with every fault, if there is one."""
    faults = check_graph(graph, catalog)
    if faults:
        raise GraphFaultsError(faults)


def _whole(graph: Graph, catalog: Catalog) -> Iterator[Fault]:
    for node_id, count in Counter(node.id for node in graph.nodes).items():
        if count > 1:
            yield Fault(node_id, "", f"{count} nodes have this id", "Give each its own.")
        if not is_name(node_id):
            yield Fault(
                node_id, "", "the id is not a Python name", "Use letters, digits and '_' only."
            )
    if not graph.outputs:
        yield Fault("", "", "the graph gives nothing out", "Name at least one output.")
    for name, port in graph.outputs.items():
        if not is_name(name):
            yield Fault(
                port.node, "", f"the output name {name!r} is not a Python name", "Rename it."
            )
        problem = _port_problem(port, graph, catalog)
        if problem:
            yield Fault("", "", f"output {name!r} comes from {port}, {problem[0]}", problem[1])
    if not any(n.op.startswith("readers.") for n in graph.nodes):
        yield Fault("", "", "nothing reads images", "Add a reader, for example readers.file.")
    _, cyclic = topological(graph)
    if cyclic:
        names = ", ".join(node.id for node in cyclic)
        yield Fault(cyclic[0].id, "", f"these nodes wait for each other: {names}", "Cut one edge.")
    settings = graph.settings
    for field, most in (
        ("batch_size", 100_000),
        ("num_threads", 1024),
        ("prefetch_queue_depth", 64),
    ):
        value = getattr(settings, field)
        if not 1 <= value <= most:
            yield Fault("", "", f"{field} is {value}", f"Give a whole number from 1 to {most}.")
    if not 0 <= settings.seed < 2**31 - LARGEST_SEED:
        yield Fault(
            "",
            "",
            f"seed is {settings.seed}",
            f"Give a number from 0 to {2**31 - LARGEST_SEED - 1}.",
        )


def _port_problem(port: Port, graph: Graph, catalog: Catalog) -> tuple[str, str] | None:
    if not graph.has(port.node):
        return "which does not exist", "Connect it to a node of the graph."
    node = graph.node(port.node)
    if node.op in catalog:
        names = [output.name for output in catalog[node.op].outputs]
        if port.output not in names:
            return f"but {node.op} gives {', '.join(names) or 'nothing'}", "Choose one of these."
    return None


def _arguments(node: Node, graph: Graph, catalog: Catalog) -> Iterator[Fault]:
    spec = catalog[node.op]
    for name, value in node.args.items():
        if name not in spec.args:
            near = get_close_matches(name, spec.args, n=1)
            hint = f"Did you mean {near[0]}?" if near else "Remove it."
            yield Fault(node.id, name, f"{node.op} has no such argument", hint)
            continue
        if name in node.inputs:
            yield Fault(node.id, name, "it has a value and a link", "Keep one of them.")
        found = value_fault(spec.args[name], value)
        if found:
            yield Fault(node.id, name, *found)
    given = [name for name in spec.args if name in node.args or name in node.inputs]
    for name in given:
        rival = next((other for other in given if other in spec.rivals(name)), None)
        if rival is not None and given.index(rival) > given.index(name):
            yield Fault(
                node.id, name, f"it cannot be given together with {rival}", "Reset one of them."
            )
    for name, arg in spec.args.items():
        if arg.required and name not in node.args and name not in node.inputs:
            yield Fault(node.id, name, f"{node.op} needs it", "Give a value.")
    if node.seed is not None and not spec.seeded:
        yield Fault(node.id, "seed", f"{node.op} draws nothing", "Remove the seed.")
    if spec.seeded and (node.seed is None or not 0 <= node.seed <= LARGEST_SEED):
        others = max((n.seed for n in graph.nodes if n.seed is not None), default=-1)
        yield Fault(
            node.id,
            "seed",
            f"{node.op} draws, and its seed is {node.seed}",
            f"Give it one from 0 to {LARGEST_SEED} that no other node has, for example "
            f"{min(max(others, -1) + 1, LARGEST_SEED)}.",
        )


def _inputs(node: Node, graph: Graph, catalog: Catalog) -> Iterator[Fault]:
    spec = catalog[node.op]
    ports = positional_ports(node, spec)
    for name, source in node.inputs.items():
        problem = _port_problem(source, graph, catalog)
        if problem:
            yield Fault(node.id, name, f"it is fed by {source}, {problem[0]}", problem[1])
        if name in spec.args:
            if not spec.args[name].tensor:
                yield Fault(
                    node.id, name, "it takes one value for all samples", "Give a fixed value."
                )
            continue
        if name not in ports:
            yield Fault(
                node.id,
                name,
                f"{node.op} has no such input",
                f"It has {', '.join(ports) or 'none'}.",
            )
            continue
        want, got = ports[name], port_kind(graph, catalog, source)
        if "any" not in (want, got) and want != got:
            yield Fault(
                node.id, name, f"it takes {want} and is fed {got}", "Connect a port of its kind."
            )
    for port in spec.inputs:
        if not port.optional and port.name not in node.inputs:
            yield Fault(node.id, port.name, "nothing feeds it", "Connect a node to it.")


def positional_ports(node: Node, spec: OpSpec) -> dict[str, str]:
    """Kinds of a node's positional inputs by name; as many as are named or in use."""
    used = sum(name not in spec.args for name in node.inputs)
    count = min(spec.max_inputs, max(len(spec.inputs), used))
    return {spec.input(i).name: spec.input(i).kind for i in range(count)}


def _device(
    node: Node, graph: Graph, catalog: Catalog, devices: dict[str, Device]
) -> Iterator[Fault]:
    spec, device = catalog[node.op], devices[node.id]
    if device not in spec.devices:
        if node.device is not None:
            where = "mixed" if device == "mixed" else f"on {_list((device,))}"
            problem = f"{node.op} cannot run {where}", f"It runs on {_list(spec.devices)}."
        elif device == "cpu":
            problem = (
                f"{node.op} runs on {_list(spec.devices)} only",
                "Decode on the GPU (mixed), or remove it.",
            )
        else:
            problem = (
                f"{node.op} runs on the CPU only and follows a GPU operator",
                "Move it before the decoder's GPU part, or decode on the CPU.",
            )
        yield Fault(node.id, "", *problem)
    for name, source in node.inputs.items():
        on_gpu = devices.get(source.node, "cpu") != "cpu"
        if on_gpu and name in spec.args:
            yield Fault(
                node.id, name, f"{source} is on the GPU", "Arguments must come from the CPU."
            )
        elif on_gpu and device in ("cpu", "mixed"):
            yield Fault(
                node.id,
                name,
                f"it runs on the CPU and {source} is on the GPU",
                f"Let {node.id} follow its input, or move it before {source.node}.",
            )


def _channels(node: Node, catalog: Catalog, channels: dict[str, int | None]) -> Iterator[Fault]:
    need, found = catalog[node.op].needs_channels, channels.get(node.id)
    if need is not None and found is not None and need != found:
        yield Fault(
            node.id,
            "",
            f"it takes {need} channels and is fed {found}",
            "Decode as RGB, or remove it.",
        )


def _list(devices: tuple[Device, ...]) -> str:
    return " and ".join(
        "the GPU" if d == "gpu" else "the CPU" if d == "cpu" else d for d in devices
    )
