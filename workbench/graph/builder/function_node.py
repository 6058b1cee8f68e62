"""A Python function as a node: ``@workbench.node`` takes its source, so that it can travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from workbench.arguments import MAPPING, NUMBER, TEXT, checked, shown
from workbench.catalog import load_catalog
from workbench.catalog.own_operators.own_code import (
    MOST_OUTPUTS,
    NUMBA_FUNCTION,
    NUMBER_TYPES,
    PYTHON_FUNCTION,
    TORCH_FUNCTION,
)
from workbench.catalog.spec import Value
from workbench.errors import GraphEditError
from workbench.graph.builder.data_node import main_output
from workbench.graph.edits.edit import free_id, free_seed
from workbench.graph.model import GRAPH, Graph, Node, Port
from workbench.graph.model.graph import FrozenDict
from workbench.graph.model.ports import output_ports
from workbench.graph.user_functions.function_source import function_source, place_of, source_at
from workbench.graph.user_functions.own_code import source_problem, trust_source

Library = Literal["numpy", "cupy", "torch", "numba"]
"""What a function's arrays are."""


@dataclass(frozen=True)
class FunctionNode:
    """A function that nodes can run, as ``node`` and ``numba_node`` make it. It can be called too.

    Attributes
    ----------
    source:
        Its text, with the imports that it uses inside it.

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
    """Of one that numba compiles: the arguments that it alone has."""
    on_gpu: bool = False

    def __call__(self, *arrays: Any) -> Any:
        """What the function gives; of a graph the graph that goes on from it, as in ``with_p``."""
        if len(arrays) == 1 and isinstance(arrays[0], Graph):
            return self._behind(arrays[0])
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
        """The arguments of a node that runs it.

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
        """The operator that calls it: ``python_function``, or that of torch or numba.

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
        """The graph with this behind an output of a node: all that it fed takes the first result.

        ``draws`` are further arguments that DALI draws evenly for each sample: their names, with
        the lowest and the highest number of each. So the preview is exact, which a function that
        draws by itself is not.

        Raises GraphEditError where there is no such node or output, and for draws that are no two
        numbers::

            bright = wb.node(brighten).after(graph, "resize", draws={"by": (0, 50)})
        """
        placed = graph.node(node_id)
        known = [port.output for port in output_ports(placed, load_catalog()[placed.op])]
        if output not in known:
            raise GraphEditError(
                f"{node_id} has no output {output!r}. It has {', '.join(known) or 'none'}."
            )
        for name, ends in draws.items():
            if not (isinstance(ends, Sequence) and len(ends) == 2 and all(map(NUMBER.fits, ends))):
                raise GraphEditError(
                    f"draws: {name} is {shown(ends)}. Give the lowest and the highest number."
                )
        scope = graph.scope_of(node_id)
        body = graph.at_scope(scope)
        inputs = {"input_0": (source := Port(node_id, output))}
        drawn: list[Node] = []
        for name, (low, high) in draws.items():
            seed, taken = free_seed(body) + len(drawn), [each.id for each in drawn]
            values = {"range": (low, high)}
            made = Node(free_id(body, name, taken), "random.uniform", values, seed=seed)
            drawn.append(made)
            inputs[f"input_{len(inputs)}"] = Port(made.id, "output")
        taken = [each.id for each in drawn]
        added = self._node(free_id(body, self.function.__name__, taken), inputs)
        result = self._result(added)
        fed = body.rewire({source: result})
        return fed.put(node_id, fed.node(node_id), *drawn, added).whole


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
    """Make a node of a function of NumPy arrays, one for each input, of one sample.

    ::

        @wb.node(layouts="HWC")
        def invert(image):
            return 255 - image

        graph = invert.after(graph, "resize")

    One that stands in a file is named: ``wb.node("augment.py:invert", layouts="HWC")``, or
    ``"package.module:invert"``.

    Its source travels with the graph, never an object: what it uses from outside must be modules
    that it imports. ``outputs`` is how many arrays it returns, ``layouts`` theirs; inside blocks
    DALI must be told. With ``batch_processing`` it is given lists of all samples of a batch.
    ``library`` says what its arrays are: those of NumPy on the CPU; of CuPy or tensors of torch on
    the GPU. For numba there is ``numba_node``.

    It must give the same for the same input. Where it draws random numbers by itself, or keeps
    something between calls, the preview cannot be exact and says so: let DALI draw, and take the
    number as an argument (``draws`` of ``after``). It must not write into what it is given.

    Raises GraphEditError for a lambda, a closure, a method, a decorated function, a generator, an
    async function, and a name from outside that is no import.
    """

    def make(given: Callable[..., Any], source: str) -> FunctionNode:
        names = (layouts,) if isinstance(layouts, str) else tuple(layouts)
        if not 1 <= outputs <= MOST_OUTPUTS:
            raise GraphEditError(f"outputs is {outputs}; give 1 to {MOST_OUTPUTS}.")
        if library not in ("numpy", "cupy", "torch"):
            raise GraphEditError(
                f"library is {library!r}; give numpy, cupy or torch. For numba take numba_node."
            )
        on_gpu = library != "numpy"
        return _trusted(
            FunctionNode(given, source, outputs, names, batch_processing, library, on_gpu=on_gpu)
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
    """Make a node of a function that numba compiles: it is given what it writes and what it reads.

    ::

        @wb.numba_node("UINT8 HWC", "UINT8 HWC")
        def invert(out, image):
            out[:] = 255 - image

        graph = invert.after(graph, "resize")

    Each input and output is a type of DALI and a layout, or a number of dimensions where it has no
    layout: ``"FLOAT 1"``. What it writes has the shape of what it reads. With ``blocks`` and
    ``threads_per_block`` it runs on the GPU, as a kernel of ``numba.cuda``.

    Raises GraphEditError as ``node`` does, and for a type that numba does not take.
    """

    def make(given: Callable[..., Any]) -> FunctionNode:
        read, written = _arrays(inputs), _arrays(outputs)
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
            raise GraphEditError("Give all outputs a layout, or none.")
        source = function_source(given, imports_inside=False)
        return _trusted(
            FunctionNode(
                given,
                source,
                len(written),
                named,
                library="numba",
                numba=tuple(args.items()),
                on_gpu=on_gpu,
            )
        )

    return make


def _arrays(given: str | tuple[str, ...]) -> list[tuple[str, str]]:
    """The type and the layout, or number of dimensions, of each."""
    found: list[tuple[str, str]] = []
    for each in given if isinstance(given, tuple | list) else (given,):
        kind, _, layout = str(each).partition(" ")
        if kind not in NUMBER_TYPES or not layout.isalnum():
            raise GraphEditError(
                f"{each!r} is no type and layout, such as UINT8 HWC or FLOAT 1. The types are "
                f"{', '.join(NUMBER_TYPES)}."
            )
        found.append((kind, layout))
    return found


def _dimensions(layout: str) -> int:
    return int(layout) if layout.isdigit() else len(layout)


def _trusted(made: FunctionNode) -> FunctionNode:
    """One that its user has just written. Raises GraphEditError where it cannot travel."""
    problem = source_problem(Node("function", made.op, made.args))
    if problem is not None:
        raise GraphEditError(f"{place_of(made.function)}: {problem[0]}. {problem[1]}")
    trust_source(made.source)
    return made
