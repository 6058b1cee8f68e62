"""Traced calls become a graph: ids, values, edges, sides, and a word on all that differs."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.traces import FILE, decoder, op, pipeline, place, reader
from tests.helpers import CATALOG
from workbench.emit.pipeline_import.calls.fold import MERGE, SPLIT, fold_calls
from workbench.emit.pipeline_import.calls.nodes import make_call
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.pipeline_import.ids import NodeCalls
from workbench.emit.pipeline_import.trace.call_order import in_call_order
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.graph import Port, check_graph
from workbench.graph.model.node_order import topological
from workbench.graph.types.devices import infer_devices


def brought(*ops: TracedOp, gives: tuple[TracedInput, ...] = ()) -> ImportedGraph:
    return import_traced(Traced(pipeline(*ops, gives=gives)), CATALOG)


def entries(imported: ImportedGraph, kind: str) -> dict[str, str]:
    return {entry.node: entry.why for entry in imported.report.entries if entry.kind == kind}


IMAGES = "__Image_0"


def test_a_chain() -> None:
    turned = op("Rotate", "__Rotate_1", IMAGES, angle=15.0, fill_value=0.5, interp_type=1)
    found = brought(reader(), decoder(), turned)
    assert [node.id for node in found.graph.nodes] == ["R", "decode", "rotate"]
    rotate = found.graph.node("rotate")
    assert rotate.args == {"angle": 15, "fill_value": 0.5, "interp_type": "INTERP_LINEAR"}
    assert isinstance(rotate.args["angle"], int)
    assert rotate.inputs == {"data": Port("decode", "output")}
    assert found.graph.outputs == {"images": Port("rotate", "output")}
    assert found.report.is_exact
    assert found.report.exact == ("R", "decode", "rotate")
    assert any("photos" in note for note in found.report.notes)
    assert check_graph(found.graph, CATALOG) == ()


def test_an_argument_that_is_drawn_names_its_generator() -> None:
    angle = op("random__Uniform", "__Uniform_1", range=(-5.0, 5.0), seed=4)
    fed = TracedInput("__Uniform_1", "cpu", "angle")
    found = brought(reader(), decoder(), angle, op("Rotate", "__Rotate_2", IMAGES, fed))
    assert found.graph.node("rotate").inputs["angle"] == Port("angle", "output")
    assert found.graph.settings.seed + (found.graph.node("angle").seed or 0) == 4


def test_names_of_the_source() -> None:
    text = (
        "def pipe():\n    small = fn.resize(y)\n    small = fn.flip(small)\n"
        "    out = fn.rotate(small)\n    return out\n"
    )
    ops = [
        op("Resize", "__Resize_1", IMAGES, size=32.0, places=(place(2),)),
        op("Flip", "__Flip_2", "__Resize_1", places=(place(3),)),
        op("Rotate", "__Rotate_3", "__Flip_2", angle=1.0, places=(place(4),)),
    ]
    traced = Traced(pipeline(reader(), decoder(), *ops), sources={FILE: text})
    found = import_traced(traced, CATALOG)
    assert [node.id for node in found.graph.nodes][2:] == ["resize", "flip", "rotate"]
    assert list(found.graph.outputs) == ["out"]
    assert found.document.origins == {
        "resize": "train.py:2", "flip": "train.py:3", "rotate": "train.py:4",
    }  # fmt: skip
    once = traced.pipeline.ops[:-2]
    kept = replace(traced, pipeline=pipeline(*once))
    assert [node.id for node in import_traced(kept, CATALOG).graph.nodes][2:] == ["small"]


def test_folders() -> None:
    masks = op("readers__File", "__File_9", outputs=2, file_root="masks")
    gives = (TracedInput("R[1]", "cpu"), TracedInput("__File_9[1]", "cpu"))
    found = brought(reader(), masks, gives=gives)
    assert found.graph.node("R").args == {}
    assert found.graph.node("reader").args == {"file_root": "masks"}, "a graph is run on one"
    listed = brought(reader(file_list="list.txt"), gives=gives[:1])
    assert listed.report.notes == ("R sets its own files: it reads no data folder",)
    assert listed.graph.node("R").args == {"file_root": "photos", "file_list": "list.txt"}


class TestSides:
    def test_what_follows_a_mixed_decoder_says_nothing(self) -> None:
        found = brought(
            reader(), decoder("mixed"), op("Rotate", "__R_1", IMAGES, device="gpu", angle=1.0)
        )
        assert found.graph.settings.device == "mixed"
        assert [node.device for node in found.graph.nodes] == [None, None, None]

    def test_to_the_gpu_in_between(self) -> None:
        moved = op("Rotate", "__R_1", TracedInput(IMAGES, "gpu"), device="gpu", angle=1.0)
        found = brought(reader(), decoder(), moved)
        assert found.graph.settings.device == "cpu"
        assert found.graph.node("rotate").device == "gpu"
        assert len(found.graph.nodes) == 3

    def test_an_output_that_changes_sides(self) -> None:
        gives = (TracedInput(IMAGES, "gpu"), TracedInput("R[1]", "gpu"), TracedInput(IMAGES, "gpu"))
        found = brought(reader(), decoder(), gives=gives)
        first, labels, again = found.graph.outputs.values()
        assert first == again
        for port, source in ((first, Port("decode", "output")), (labels, Port("R", "labels"))):
            node = found.graph.node(port.node)
            assert (node.op, node.device, node.inputs) == ("copy", "gpu", {"data": source})
        assert set(found.report.exact) == {node.id for node in found.graph.nodes}

    def test_an_output_on_both_sides_is_copied_once(self) -> None:
        gives = tuple(TracedInput(IMAGES, side) for side in ("gpu", "cpu", "gpu"))
        graph = brought(reader(), decoder(), gives=gives).graph
        first, second, third = graph.outputs.values()
        assert first == third
        assert second == Port("decode", "output")
        copy = graph.node(first.node)
        assert (copy.op, copy.device, copy.inputs) == ("copy", "gpu", {"data": second})
        assert len(graph.nodes) == 3

    def test_a_decoder_that_stays_behind(self) -> None:
        other = op("decoders__Image", "__Image_5", "R[0]")
        gives = (TracedInput(IMAGES, "gpu"), TracedInput("__Image_5", "cpu"))
        found = brought(reader(), decoder("mixed"), other, gives=gives)
        devices = infer_devices(found.graph, CATALOG)
        assert sorted(devices.values()) == ["cpu", "cpu", "mixed"]

    def test_back_to_the_cpu_in_between(self) -> None:
        back = op("Flip", "__Flip_1", TracedInput(IMAGES, "cpu"))
        graph = brought(reader(), decoder("mixed"), back).graph
        inferred = infer_devices(graph, CATALOG)
        assert inferred["flip"] == "cpu"
        source = graph.node("flip").inputs["data"]
        assert inferred[source.node] in ("cpu", "mixed")
        order = [node.id for node in graph.nodes]
        assert order.index(source.node) < order.index("flip")


class TestOpaque:
    def test_what_runs_python(self) -> None:
        text = "def pipe():\n    z = fn.python_function(\n        x, function=f)\n"
        custom = op(
            "PythonFunctionImpl", "__P_1", IMAGES, outputs=2, places=(place(2),), display="trip",
            refused="it runs Python",
        )  # fmt: skip
        last = op("Rotate", "__Rotate_2", "__P_1[1]", angle=2.0)
        traced = Traced(pipeline(reader(), decoder(), custom, last), sources={FILE: text})
        found = import_traced(traced, CATALOG)
        node = found.graph.node("trip")
        assert node.op == "opaque.2"
        assert node.args == {
            "call": "fn.trip",
            "source": "z = fn.python_function(\n        x, function=f)",
            "why": "it runs Python",
        }
        assert node.inputs == {"input_0": Port("decode", "output")}
        assert found.graph.node("rotate").inputs == {"data": Port("trip", "output_1")}
        (entry,) = found.report.opaque
        assert (entry.node, entry.place) == ("trip", "train.py:2")
        assert found.report.exact == ("R", "decode", "rotate")

    @pytest.mark.parametrize(
        ("call", "why"),
        [
            (op("_conditional__Split", "__S_1", IMAGES, outputs=2), "cannot be distinguished"),
            (
                op("experimental__readers__Fits", "__F_1", outputs=1),
                "no source of the workbench uses it",
            ),
            (op("NoSuchThing", "__N_1", IMAGES), "no such operator"),
            (op("Rotate", "__Rotate_1", IMAGES, angle=1.0, wings=2), "argument wings"),
            (op("Rotate", "__Rotate_1", IMAGES, outputs=2, angle=1.0), "it has 2 outputs"),
            (op("Rotate", "__Rotate_1", IMAGES, IMAGES, angle=1.0), "at most one input"),
            (op("Rotate", "__Rotate_1", IMAGES, interp_type=77), "interp_type=77 is not a member"),
            (
                op("Rotate", "__Rotate_1", IMAGES, TracedInput(IMAGES, "cpu", "fill_value")),
                "argument fill_value",
            ),
        ],
    )
    def test_what_a_graph_cannot_hold(self, call: TracedOp, why: str) -> None:
        found = brought(reader(), decoder(), call)
        (entry,) = found.report.opaque
        node = found.graph.node(entry.node)
        assert why in entry.why
        assert why in str(node.args["why"])
        assert len(node.inputs) == len(call.inputs)


def test_an_opaque_reader_reads() -> None:
    found = brought(
        op("readers__Caffe", "__C_1", outputs=2), gives=(TracedInput("__C_1[0]", "cpu"),)
    )
    assert "no node reads images" not in str(found.report)
    assert found.report.faults == ()


def test_a_cell_shows_the_report() -> None:
    found = brought(reader(), decoder())
    assert repr(found) == f"ImportedGraph 'imported', {found.report}"
    assert repr(found).splitlines()[0].endswith("2 of 2 steps exact")


def test_settings_that_are_not_said_or_out_of_range() -> None:
    whole = pipeline(reader(), decoder())
    odd = TracedPipeline(whole.ops, whole.outputs, 0, 10**9, 1, 0, 3)
    found = import_traced(Traced(odd), CATALOG)
    assert (found.graph.settings.batch_size, found.graph.settings.num_threads) == (64, 4)
    assert found.graph.settings.prefetch_queue_depth == 3
    (refused,) = found.report.refused
    assert "batch_size: not set in the source; it is 64 here" in found.report.notes
    assert "num_threads: 1000000000 is out of range; it is 4 here" in str(refused)


def test_settings_that_a_graph_cannot_hold() -> None:
    queues = "{'cpu_size': 5, 'gpu_size': 3}"
    whole = replace(
        pipeline(reader(), decoder()),
        device_id=3,
        prefetch_queue_depth=5,
        unheld={"prefetch_queue_depth": queues, "exec_async": "False"},
    )
    report = import_traced(Traced(whole), CATALOG).report
    assert [entry.why for entry in report.refused] == [
        f"prefetch_queue_depth={queues}: not supported by a graph; it is 5 here",
        "exec_async=False: not supported by a graph; it is omitted",
        "device_id=3: not supported by a graph; it is omitted",
    ]
    headline = "partly: 2 of 2 steps exact, 3 omitted"
    assert str(report).startswith(f"{headline}\nomitted  prefetch")
    first_gpu = replace(pipeline(reader(), decoder()), device_id=0)
    assert import_traced(Traced(first_gpu), CATALOG).report.is_exact


def test_the_name_of_a_reader_that_cannot_be_an_id() -> None:
    images = op("decoders__Image", "__Image_0", TracedInput("my reader[0]", "cpu"))
    found = brought(reader("my reader"), images, op("Rotate", "turn it", IMAGES, angle=1.0))
    assert [node.id for node in found.graph.nodes] == ["my_reader", "decode", "turn_it"]
    why = "the source names it 'my reader': use the new name where that name is used"
    assert entries(found, "changed") == {"my_reader": why}


def test_what_the_workbench_does_not_run_is_told_of() -> None:
    found = brought(reader(), decoder(), op("Rotate", "__Rotate_1", IMAGES))
    (fault,) = found.report.faults
    assert fault.node == "rotate"
    assert "fault    rotate: angle: it has no value and no default" in str(found.report)
    assert found.report.is_exact


def test_idle_constants_are_left_out() -> None:
    constant = op("Constant", "__Constant_1", fdata=(1.0,))
    found = brought(reader(), constant, decoder())
    assert [node.op for node in found.graph.nodes] == ["readers.file", "decoders.image"]


# Calls are in source order.


def names(*ops: TracedOp) -> list[str]:
    return [op.name for op in in_call_order(ops, Lines({}, ops))]


def test_numbers_of_dali_decide_and_sources_come_first() -> None:
    late = op("B", "__B_1")
    assert names(op("C", "__C_2"), op("A", "__A_10"), late) == ["__B_1", "__C_2", "__A_10"]
    assert names(op("A", "__A_3"), op("B", "__B_1", "__A_3")) == ["__A_3", "__B_1"]


def test_a_named_call_stands_at_its_line() -> None:
    first = op("A", "__A_0", places=(place(2),))
    named = op("B", "mine", places=(place(3),))
    last = op("C", "__C_1", places=(place(4),))
    assert names(last, named, first) == ["__A_0", "mine", "__C_1"]


def test_or_before_what_it_feeds() -> None:
    assert names(op("A", "__A_0"), op("R", "mine"), op("B", "__B_1", "mine")) == [
        "__A_0", "mine", "__B_1",
    ]  # fmt: skip
    assert names(op("R", "mine"), op("A", "__A_0")) == ["__A_0", "mine"]


SOURCE = """\
def pipe():
    images = fn.decoders.image(fn.readers.file()[0])
    if first:
        images = fn.rotate(images, angle=fn.random.uniform())
    elif second:
        images = fn.flip(images)
    if first:
        images = fn.blur(images)
    images = auto_augment.auto_augment_image_net(fn.resize(images))
    images = custom(fn.flip(custom(fn.resize(images))))
    return images
"""
TREE = ast.parse(SOURCE)


def on(predicate: str) -> TracedInput:
    return TracedInput(predicate, "cpu", "predicate")


def at(line: int, *deeper: SourceLocation) -> tuple[SourceLocation, ...]:
    return (place(line, SOURCE.splitlines()[line - 1].strip()), *deeper)


def library(line: int) -> tuple[SourceLocation, ...]:
    file = "/lib/nvidia/dali/auto_aug/auto_augment.py"
    return at(9, place(line, function="auto_augment_image_net", file=file))


COINS = [op("random__CoinFlip", f"__Coin_{n}", seed=n) for n in (1, 2)]
FIRST, SECOND = (coin.name for coin in COINS)
READING = [reader(), decoder(), *COINS]
IF = [
    op(SPLIT, "__S_10", "__Image_0", on(FIRST), outputs=2, places=at(4)),
    op("random__Uniform", "__Uniform_11", places=at(4)),
    op(SPLIT, "__S_12", "__Uniform_11", on(FIRST), outputs=2, places=at(4)),
    op("Rotate", "__R_13", "__S_10[0]", TracedInput("__S_12[0]", "cpu", "angle"), places=at(4)),
    op(SPLIT, "__S_14", SECOND, on(FIRST), outputs=2, places=at(5)),
    op(SPLIT, "__S_15", "__S_10[1]", on("__S_14[1]"), outputs=2, places=at(6)),
    op("Flip", "__F_16", "__S_15[0]", places=at(6)),
    op(MERGE, "__M_17", "__F_16", "__S_15[1]", on("__S_14[1]"), places=at(5)),
    op(MERGE, "__M_18", "__R_13", "__M_17", on(FIRST), places=at(3)),
]
CROSSED = [
    replace(one, inputs=(one.inputs[0], one.inputs[1]._replace(edge="__S_12[1]")))
    if one.schema == "Rotate"
    else one
    for one in IF
]
"""What one branch draws is used in the other: no source does that."""
AGAIN = [
    op(SPLIT, "__S_20", "__M_18", on(FIRST), outputs=2, places=at(8)),
    op("GaussianBlur", "__B_21", "__S_20[0]", places=at(8), sigma=1.0),
    op(MERGE, "__M_22", "__B_21", "__S_20[1]", on(FIRST), places=at(7)),
]
AUTO = [
    op("Resize", "__R_30", "__M_22", places=at(9), size=40.0),
    op("random__Uniform", "__U_31", places=library(5)),
    op("NoSuch", "__N_32", "__R_30", "__U_31", outputs=2, places=library(6)),
    op("Flip", "__F_33", "__N_32[1]", places=library(7)),
]


def from_source(*ops: TracedOp, source: str | None = SOURCE) -> ImportedGraph:
    sources = {} if source is None else {FILE: source}
    return import_traced(Traced(pipeline(*ops), sources=sources), CATALOG)


def test_a_node_for_each_condition() -> None:
    found = from_source(*READING, *CROSSED, *AGAIN)
    first, second = (found.graph.node(entry.node) for entry in found.report.opaque)
    lines = SOURCE.splitlines(keepends=True)
    assert first.args["call"] == second.args["call"] == "if"
    assert first.args["source"] == "".join(line[4:] for line in lines[2:6]).rstrip()
    assert second.args["source"] == "".join(line[4:] for line in lines[6:8]).rstrip()
    outside = [Port("decode", "output"), *(Port(c, "output") for c in ("coin_flip", "coin_flip_2"))]
    assert set(first.inputs.values()) == set(outside)
    assert set(second.inputs.values()) == {Port(first.id, "output"), outside[1]}
    assert list(found.graph.outputs.values()) == [Port(second.id, "output")]
    assert [node.op for node in found.graph.nodes][-2:] == ["opaque.1", "opaque.1"]
    assert len(found.graph.nodes) == len(READING) + 2
    said = [str(entry) for entry in found.report.opaque]
    assert "(train.py:3): if: its branches cannot be distinguished (it contains 7 calls)" in said[0]
    assert "(train.py:7): if: its branches cannot be distinguished (it contains 3 calls)" in said[1]


def test_a_condition_of_an_unknown_source() -> None:
    """Its ends are found by its predicate; random values for a branch are sampled outside."""
    found = from_source(*READING, *CROSSED, source=None)
    (entry,) = found.report.opaque
    assert entry.why == "if: its branches cannot be distinguished (it contains 6 calls)"
    (entry, other) = from_source(*READING, *CROSSED, *AGAIN, source=None).report.opaque
    assert "6 calls" in entry.why
    assert "3 calls" in other.why


def test_what_a_library_does() -> None:
    found = from_source(*READING, *IF, *AGAIN, *AUTO)
    node = found.graph.node(found.report.opaque[-1].node)
    assert node.args["call"] == "auto_augment.auto_augment_image_net"
    assert node.args["source"] == SOURCE.splitlines()[8].strip()
    assert node.inputs == {"input_0": Port("resize", "output")}
    assert found.graph.node("resize").op == "resize", "it is the user's own call"
    assert "it contains 3 calls" in str(node.args["why"])


def test_what_stands_between_two_opaque_calls_of_a_statement() -> None:
    chain = [
        op("Resize", "__R_40", "__Image_0", places=at(10), size=40.0),
        op("NoSuch", "__N_41", "__R_40", places=at(10)),
        op("Flip", "__F_42", "__N_41", places=at(10)),
        op("NoSuch", "__N_43", "__F_42", places=at(10)),
    ]
    found = from_source(*READING[:2], *chain)
    (entry,) = found.report.opaque
    assert [node.id for node in found.graph.nodes] == ["R", "decode", "resize", entry.node]
    assert "it contains 3 calls" in entry.why


def test_one_call_keeps_its_own_words() -> None:
    (entry,) = from_source(
        *READING[:2], op("NoSuch", "__N_1", "__Image_0", places=at(10))
    ).report.opaque
    assert entry.why == "fn.nosuch: a graph has no such operator"


def test_more_outputs_than_an_opaque_node_has() -> None:
    calls = [op("NoSuch", f"__N_{n}", "__Image_0", places=at(10)) for n in range(17)]
    gives = tuple(TracedInput(call.name, "cpu") for call in calls)
    traced = Traced(pipeline(*READING[:2], *calls, gives=gives), sources={FILE: SOURCE})
    found = import_traced(traced, CATALOG)
    assert len(found.report.opaque) == 17
    assert len(found.graph.outputs) == 17


def made_of(ops: list[TracedOp], lines: Lines) -> NodeCalls:
    makers = {edge: one for one in ops for edge, _ in one.outputs}
    return [(one, make_call(one, CATALOG, lines, makers)) for one in ops]


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[TracedOp], list[str]]:
    """Calls on random lines of the source; some are opaque, some split or merge outputs."""
    ops: list[TracedOp] = [reader(), replace(decoder(), places=at(2))]
    edges = [edge for one in ops for edge, _ in one.outputs]
    for number in range(draw(st.integers(1, 25))):
        name = f"__X_{number + 10}"
        pick = st.sampled_from(edges)
        lines = draw(st.sampled_from([(), *(at(n) for n in range(2, 11)), library(5)]))
        kind = draw(st.sampled_from(["Flip", "Blend", "NoSuch", SPLIT, MERGE]))
        reads: list[str | TracedInput] = [draw(pick)]
        if kind != "Flip":
            reads.append(draw(pick))
        if kind in (SPLIT, MERGE):
            reads.append(on(draw(pick)))
        made = op(kind, name, *reads, outputs=2 if kind == SPLIT else 1, places=lines)
        ops.append(made)
        edges += [edge for edge, _ in made.outputs]
    return ops, draw(st.lists(st.sampled_from(edges), min_size=1, max_size=4))


@given(grown())
def test_no_edge_is_lost_and_no_cycle_made(drawn: tuple[list[TracedOp], list[str]]) -> None:
    ops, outputs = drawn
    lines = Lines({FILE: SOURCE}, ops)
    made = made_of(ops, lines)
    folded = fold_calls(made, lines, outputs)
    known: set[str] = set()
    for one, call in folded:
        assert {edge.edge for edge in call.inputs.values()} <= known, "each behind what feeds it"
        known |= {edge for edge, _ in one.outputs}
    assert set(outputs) <= known
    kept = {one.name: one for one, call in folded if one.schema}
    before = {one.name: (one, call) for one, call in made}
    assert all(one == before[name][0] for name, one in kept.items())
    folds = [(one, call) for one, call in folded if not one.schema]
    gone = [before[name] for name in before if name not in kept]
    # what was folded read from outside is still read by a fold, and what was opaque still is
    inner = {edge for one, _ in gone for edge, _ in one.outputs}
    outside = {edge.edge for one, _ in gone for edge in one.inputs} - inner
    assert outside <= {edge.edge for one, _ in folds for edge in one.inputs}
    assert all(call.opaque for _, call in folds)
    assert bool(folds) == bool(gone)
    graph = import_traced(
        Traced(pipeline(*ops, gives=tuple(TracedInput(e, "cpu") for e in outputs))), CATALOG
    ).graph
    assert topological(graph)[1] == ()
    assert len(graph.outputs) == len(outputs)


@given(grown())
def test_without_opaque_calls_nothing_changes(drawn: tuple[list[TracedOp], list[str]]) -> None:
    ops = [one for one in drawn[0] if one.schema in ("readers__File", "decoders__Image", "Flip")]
    lines = Lines({FILE: SOURCE}, ops)
    made = made_of([replace(one, inputs=one.inputs[:1]) for one in ops], lines)
    assert not any(call.opaque for _, call in made)
    assert list(fold_calls(made, lines, [])) == list(made)
