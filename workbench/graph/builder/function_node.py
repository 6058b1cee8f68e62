"""Represent Python functions as nodes: ``@workbench.node`` stores their source in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from workbench.arguments import MAPPING, NUMBER, TEXT, checked, format_value
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import (
    MOST_OUTPUTS,
    NUMBA_FUNCTION,
    NUMBER_TYPES,
    PYTHON_FUNCTION,
    TORCH_FUNCTION,
)
from workbench.catalog.spec import Value
from workbench.errors import GraphEditError
from workbench.graph.builder.data_node import DataNode, main_output
from workbench.graph.edits.edit import free_id, free_seed
from workbench.graph.model import GRAPH, Graph, Node, Port
from workbench.graph.model.frozen_dict import FrozenDict
from workbench.graph.model.ports import output_ports
from workbench.graph.user_functions.function_source import (
    function_location,
    function_source,
    source_at,
)
from workbench.graph.user_functions.trust import source_problem, trust_source

Library = Literal["numpy", "cupy", "torch", "numba"]
"""Array library that a function node uses."""


@dataclass(frozen=True)
class FunctionNode:
    """A node that runs a Python function, created by ``node`` or ``numba_node``.

    The object can still be called like the function.

    Attributes
    ----------
    source:
        Source code of the function, including the imports that it uses.

    ::

        @wb.node(layouts="HWC")
        def invert(image):
            return 255 - image

        assert invert(np.uint8(5)) == 250
        inverted = invert.after(graph, "resize")
        sometimes = graph.with_p(0.5, invert)
    """

    function: Callable[..., Any]
    source: str
    num_outputs: int = 1
    output_layouts: tuple[str, ...] = ()
    batch_processing: bool = False
    library: Library = "numpy"
    numba: tuple[tuple[str, Value], ...] = ()
    """Additional arguments of a node that runs a numba function."""
    on_gpu: bool = False

    def __call__(self, *arrays: Any) -> Any:
        """Call the function with arrays, or add it to a graph as a node and return the graph."""
        if len(arrays) == 1 and isinstance(arrays[0], Graph):
            return self._behind(arrays[0])
        name = self.function.__name__
        if any(isinstance(each, DataNode) for each in arrays):
            raise GraphEditError(
                f"{name} runs on arrays, but received the output of a node. Pass the graph: "
                f"{name}(graph), or {name}.after(graph, NODE)."
            )
        return self.function(*arrays)

    def _behind(self, graph: Graph) -> Graph:
        name, start = main_output(graph, load_catalog())
        added = self._node(free_id(graph, self.function.__name__), {"input_0": start.port})
        outputs = {**graph.outputs, name: self._result(added)}
        return replace(graph, nodes=(*graph.nodes, added), outputs=outputs)

    def _node(self, node_id: str, inputs: Mapping[str, Port]) -> Node:
        return Node(node_id, self.op, self.args, inputs, device="gpu" if self.on_gpu else None)

    def _result(self, node: Node) -> Port:
        return Port(node.id, "output" if self.num_outputs == 1 else "output_0")

    @property
    def args(self) -> dict[str, Value]:
        """Arguments of a node that runs the function.

        ::

            assert wb.node(brighten).args["function"] == "brighten"
        """
        args: dict[str, Value] = {
            "function": self.function.__name__,
            "source": self.source,
            "num_outputs": self.num_outputs,
        }
        if self.output_layouts:
            args["output_layouts"] = self.output_layouts
        if self.batch_processing:
            args["batch_processing"] = True
        return {**args, **dict(self.numba)}

    @property
    def op(self) -> str:
        """The operator that runs the function, such as ``python_function``.

        ::

            assert wb.node(brighten).op == "python_function"
        """
        spec = {"torch": TORCH_FUNCTION, "numba": NUMBA_FUNCTION}.get(self.library)
        return (spec or PYTHON_FUNCTION).name

    @checked(graph=GRAPH, node_id=TEXT, output=TEXT, draws=MAPPING)
    def after(
        self,
        graph: Graph,
        node_id: str,
        output: str = "output",
        *,
        draws: Mapping[str, tuple[float, float]] = FrozenDict(),
    ) -> Graph:
        """Add the function after an output of a node, in front of all consumers of that output.

        ``draws`` maps names of additional arguments to a minimum and maximum. DALI samples a value
        from this range for each sample, so the preview is exact. Random numbers in the function
        itself would make it inexact.

        Raises GraphEditError if the node or output does not exist, or if an entry of ``draws`` is
        not two numbers::

            bright = wb.node(brighten).after(graph, "resize", draws={"by": (0, 50)})
        """
        placed = graph.node(node_id)
        known = [port.output for port in output_ports(placed, load_catalog()[placed.op])]
        if output not in known:
            raise GraphEditError(
                f"{node_id!r} has no output {output!r}. It has {', '.join(known) or 'none'}."
            )
        for name, ends in draws.items():
            if not (isinstance(ends, Sequence) and len(ends) == 2 and all(map(NUMBER.fits, ends))):
                raise GraphEditError(
                    f"draws: {name} is {format_value(ends)}. Use a pair (minimum, maximum)."
                )
        scope = graph.scope_of(node_id)
        body = graph.at_scope(scope)
        inputs = {"input_0": (source := Port(node_id, output))}
        generators: list[Node] = []
        for name, (low, high) in draws.items():
            seed, taken = free_seed(body) + len(generators), [each.id for each in generators]
            values = {"range": (low, high)}
            made = Node(free_id(body, name, taken), "random.uniform", values, seed=seed)
            generators.append(made)
            inputs[f"input_{len(inputs)}"] = Port(made.id, "output")
        taken = [each.id for each in generators]
        added = self._node(free_id(body, self.function.__name__, taken), inputs)
        result = self._result(added)
        fed = body.rewire({source: result})
        return fed.substitute(node_id, fed.node(node_id), *generators, added).whole


@overload
def node(function: Callable[..., Any], /) -> FunctionNode: ...


@overload
def node(
    function: str,
    /,
    *,
    outputs: int = 1,
    layouts: str | tuple[str, ...] = (),
    batch_processing: bool = False,
    library: Library = "numpy",
) -> FunctionNode: ...


@overload
def node(
    *,
    outputs: int = 1,
    layouts: str | tuple[str, ...] = (),
    batch_processing: bool = False,
    library: Library = "numpy",
) -> Callable[[Callable[..., Any]], FunctionNode]: ...


def node(
    function: Callable[..., Any] | str | None = None,
    /,
    *,
    outputs: int = 1,
    layouts: str | tuple[str, ...] = (),
    batch_processing: bool = False,
    library: Library = "numpy",
) -> Any:
    """Create a node from a function that processes one sample, with one NumPy array per input.

    ::

        @wb.node(layouts="HWC")
        def invert(image):
            return 255 - image

        graph = invert.after(graph, "resize")

    A function in a file is passed by name: ``wb.node("augment.py:invert", layouts="HWC")``, or
    ``"package.module:invert"``.

    The graph stores the function's source, not an object, so external names must be imported
    modules. ``outputs`` is the number of returned arrays, and ``layouts`` are their layouts, which
    DALI requires inside blocks. With ``batch_processing`` the function receives lists of all
    samples of a batch. ``library`` selects the type of arrays: NumPy on the CPU; CuPy arrays or
    torch tensors on the GPU. For numba use ``numba_node``.

    The function must be deterministic. If it uses its own random numbers, or keeps state between
    calls, the preview is not exact and a warning reports it. Let DALI sample random numbers and
    pass them as arguments (``draws`` of ``after``). The function must not write to its inputs.

    Raises GraphEditError for a lambda, a closure, a method, a decorated function, a generator, an
    async function, and an external name that is not an import.
    """

    def make(function: Callable[..., Any], source: str) -> FunctionNode:
        names = (layouts,) if isinstance(layouts, str) else tuple(layouts)
        if not 1 <= outputs <= MOST_OUTPUTS:
            raise GraphEditError(f"outputs is {outputs}. Use 1 to {MOST_OUTPUTS}.")
        if library not in ("numpy", "cupy", "torch"):
            raise GraphEditError(
                f"library is {library!r}. Use numpy, cupy or torch; for numba use numba_node."
            )
        on_gpu = library != "numpy"
        return _trust(
            FunctionNode(function, source, outputs, names, batch_processing, library, on_gpu=on_gpu)
        )

    if isinstance(function, str):
        name, source = source_at(function)
        scope: dict[str, Any] = {"__name__": name}
        exec(compile(source, function.rpartition(":")[0], "exec"), scope)
        return make(scope[name], source)
    if function is not None:
        return make(function, function_source(function))
    return lambda given: make(given, function_source(given))


def numba_node(
    inputs: str | tuple[str, ...] = "UINT8 HWC",
    outputs: str | tuple[str, ...] = "UINT8 HWC",
    *,
    blocks: tuple[int, int, int] | None = None,
    threads_per_block: tuple[int, int, int] | None = None,
) -> Callable[[Callable[..., Any]], FunctionNode]:
    """Create a node that runs a function with numba.

    The function's parameters are the output arrays, followed by the input arrays::

        @wb.numba_node("UINT8 HWC", "UINT8 HWC")
        def invert(out, image):
            out[:] = 255 - image

        graph = invert.after(graph, "resize")

    An input or output is a DALI type and a layout or, without a layout, the number of dimensions:
    ``"FLOAT 1"``. Outputs have the shape of the inputs. With ``blocks`` and ``threads_per_block``
    the function runs on the GPU as a CUDA kernel of ``numba.cuda``.

    Raises GraphEditError like ``node``, and for a type that numba does not support.
    """
    read, written = _parse_arrays(inputs), _parse_arrays(outputs)

    def make(function: Callable[..., Any]) -> FunctionNode:
        layouts = tuple(layout for _, layout in written)
        args: dict[str, Value] = {
            "in_types": tuple(kind for kind, _ in read),
            "out_types": tuple(kind for kind, _ in written),
            "ins_ndim": tuple(_dimensions(layout) for _, layout in read),
            "outs_ndim": tuple(_dimensions(layout) for _, layout in written),
        }
        on_gpu = blocks is not None or threads_per_block is not None
        if on_gpu:
            args |= {"blocks": blocks or (), "threads_per_block": threads_per_block or ()}
        named = tuple(layout for layout in layouts if not layout.isdigit())
        if named and len(named) != len(layouts):
            raise GraphEditError(
                f"Layouts are set for {len(named)} of {len(layouts)} outputs. Set the layouts "
                "of all outputs, or of none."
            )
        source = function_source(function, imports_inside=False)
        return _trust(
            FunctionNode(
                function,
                source,
                len(written),
                named,
                library="numba",
                numba=tuple(args.items()),
                on_gpu=on_gpu,
            )
        )

    return make


def _parse_arrays(descriptions: str | tuple[str, ...]) -> list[tuple[str, str]]:
    """Parse ``UINT8 HWC`` into element type and layout, or ``FLOAT 1`` into type and axis count."""
    found: list[tuple[str, str]] = []
    for each in descriptions if isinstance(descriptions, tuple | list) else (descriptions,):
        kind, _, layout = str(each).partition(" ")
        if callable(each):
            raise GraphEditError(
                "numba_node received a function. Write @wb.numba_node(), or name the types and "
                'layouts: @wb.numba_node("UINT8 HWC", "UINT8 HWC").'
            )
        if kind not in NUMBER_TYPES or not layout.isalnum():
            raise GraphEditError(
                f"{each!r} is not a type and layout, such as UINT8 HWC or FLOAT 1. The "
                f"types are {', '.join(NUMBER_TYPES)}."
            )
        found.append((kind, layout))
    return found


def _dimensions(layout: str) -> int:
    return int(layout) if layout.isdigit() else len(layout)


def _trust(created: FunctionNode) -> FunctionNode:
    """Trust a function that the user passed in code; raise GraphEditError if it is unsupported."""
    problem = source_problem(Node("function", created.op, created.args))
    if problem is not None:
        raise GraphEditError(f"{function_location(created.function)}: {problem[0]}. {problem[1]}")
    trust_source(created.source)
    return created
