from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from hypothesis import given

from tests.helpers import CATALOG, CHAINS, chain_graph
from workbench.catalog import Catalog
from workbench.emit import emit_script, emit_stage
from workbench.engine.build.auto_augment import auto_augment_random_values
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.model.node_order import topological
from workbench.graph.resolved import ResolvedGraph


def operator_calls(text: str) -> dict[str, set[str]]:
    """Operator -> its fixed arguments as source, with constants and without variables."""
    tree = ast.parse(text)
    constants = {ast.unparse(s.targets[0]): s.value for s in tree.body if isinstance(s, ast.Assign)}
    found: dict[str, set[str]] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("fn."):
            values = {k.arg: constants.get(ast.unparse(k.value), k.value) for k in call.keywords}
            found[ast.unparse(call.func)] = {
                f"{name}={ast.unparse(value)}"
                for name, value in values.items()
                if name not in (None, "_random_state") and not isinstance(value, ast.Name)
            }
    return found


def taps_of(nodes: Iterable[Node]) -> list[Port]:
    return [Port(n.id, o.name) for n in nodes for o in CATALOG[n.op].outputs_with(n.inputs, n.args)]


def whole(graph: Graph) -> str:
    ids = [node.id for node in graph.nodes]
    taps = taps_of(graph.nodes)
    return emit_stage(ResolvedGraph(graph, CATALOG), ids, taps, {}).code.text


def test_a_stage_makes_the_calls_of_the_script() -> None:
    graph = load_recipe("imagenet-train")
    stage = whole(graph).replace("base_seed", "seed")
    assert operator_calls(stage) == operator_calls(emit_script(graph, CATALOG).text)


@given(CHAINS)
def test_any_stage_parses_taps_all_and_knows_its_lines(graph: Graph) -> None:
    ordered, _ = topological(graph)
    half = [node.id for node in ordered[len(ordered) // 2 :]]
    fed = {p: "cpu" for n in ordered for p in n.inputs.values() if n.id in half}
    feeds = {p: "cpu" for p in fed if p.node not in half}
    taps = taps_of(n for n in ordered if n.id in half)
    source = emit_stage(ResolvedGraph(graph, CATALOG), half, taps, feeds).code  # type: ignore[arg-type]
    tree = ast.parse(source.text)
    stage = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "stage")
    returned = stage.body[-1]
    assert isinstance(returned, ast.Return)
    assert isinstance(returned.value, ast.Tuple)
    names = [ast.unparse(item) for item in returned.value.elts]
    assert len(set(names)) == len(taps)
    lines = source.text.splitlines()
    for node in half:
        places = source.lines[node]
        text = "\n".join(lines[places.start - 1 : places.stop - 1])
        assert f"fn.{graph.node(node).op}(" in text
    assert source.text.count("fn.external_source(") == len(feeds)


def test_random_operators_start_at_the_position(catalog: Catalog) -> None:
    text = whole(load_recipe("simclr"))
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    names = {call: ast.unparse(call.func) for call in calls}
    given_state = {
        call: any(keyword.arg == "_random_state" for keyword in call.keywords)
        for call in calls
        if names[call].startswith("fn.")
    }
    assert set(given_state.values()) == {True, False}
    for call, has_state in given_state.items():
        assert has_state == catalog[names[call].removeprefix("fn.")].random_state


def test_feeds_on_the_gpu_are_taken_in_there() -> None:
    graph = load_recipe("imagenet-eval")
    port = Port("decode", "output")
    text = emit_stage(
        ResolvedGraph(graph, CATALOG), ["resize"], [Port("resize", "output")], {port: "gpu"}
    ).code.text
    (call,) = re.findall(r"fn\.external_source\((.*?)\)", text, re.DOTALL)
    assert call.split() == ['name="decode.output",', "no_copy=True,", 'device="gpu"']


def test_with_blocks_only_one_line_changes_with_a_value() -> None:
    graph, block = wrap_in_block(load_recipe("rotate-jitter"), CATALOG, ["rotate"])

    def lines(angle: float) -> list[str]:
        made = set_arg(graph, CATALOG, "rotate", "angle", angle)
        taps = taps_of([made.node(block)])
        fed = dict.fromkeys(made.node(block).inputs.values(), "cpu")
        return emit_stage(ResolvedGraph(made, CATALOG), [block], taps, fed).code.text.splitlines()  # type: ignore[arg-type]

    pairs = list(zip(lines(3.0), lines(-123.456), strict=True))
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    assert [one.split(" = ")[0] for one, _ in changed] == ["VALUES"]
    assert "-123.456" in changed[0][1]


def test_on_the_gpu_the_engine_augments_through_the_host() -> None:
    graph = chain_graph("resize", "rand_augment", resize={"size": (64.0, 64.0)})
    graph, block = wrap_in_block(graph, CATALOG, ["rand_augment"])
    fed = list(graph.node(block).inputs.values())
    for device, copies in (("cpu", 0), ("mixed", 1)):
        placed = set_setting(graph, device=device)
        draws = auto_augment_random_values(ResolvedGraph(placed, CATALOG))
        feeds = {port: "gpu" if port.node == "resize" and copies else "cpu" for port in fed}
        made = emit_stage(ResolvedGraph(placed, CATALOG), [block], [], feeds, draws, applied=True)  # type: ignore[arg-type]
        assert made.automatic == {"rand_augment": "HWC"}
        text = made.code.text
        assert text.count("resize__output.cpu(),") == copies
        assert text.count("rand_augment__output = rand_augment__output.gpu()") == copies
