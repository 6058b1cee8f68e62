"""What one statement does and the graph cannot hold becomes one opaque node, and loses no edge."""

from __future__ import annotations

import ast
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.traces import FILE, decoder, op, pipeline, place, reader
from tests.helpers import CATALOG
from workbench.emit.pipeline_import.calls.fold import MERGE, SPLIT, fold_calls
from workbench.emit.pipeline_import.calls.nodes import make_call
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.pipeline_import.ids import Made
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedInput,
    TracedOp,
)
from workbench.graph.model import Port
from workbench.graph.model.node_order import topological

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


def brought(*ops: TracedOp, source: str | None = SOURCE) -> ImportedGraph:
    sources = {} if source is None else {FILE: source}
    return import_traced(Traced(pipeline(*ops), sources=sources), CATALOG)


def test_a_node_for_each_condition() -> None:
    found = brought(*READING, *CROSSED, *AGAIN)
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
    assert "(train.py:3): if: its branches cannot be told apart (it holds 7 calls)" in said[0]
    assert "(train.py:7): if: its branches cannot be told apart (it holds 3 calls)" in said[1]


def test_a_condition_of_an_unknown_source() -> None:
    """Its ends are told by its predicate; what is drawn for a branch is drawn outside."""
    found = brought(*READING, *CROSSED, source=None)
    (entry,) = found.report.opaque
    assert entry.why == "if: its branches cannot be told apart (it holds 6 calls)"
    (entry, other) = brought(*READING, *CROSSED, *AGAIN, source=None).report.opaque
    assert "6 calls" in entry.why
    assert "3 calls" in other.why


def test_what_a_library_does() -> None:
    found = brought(*READING, *IF, *AGAIN, *AUTO)
    node = found.graph.node(found.report.opaque[-1].node)
    assert node.args["call"] == "auto_augment.auto_augment_image_net"
    assert node.args["source"] == SOURCE.splitlines()[8].strip()
    assert node.inputs == {"input_0": Port("resize", "output")}
    assert found.graph.node("resize").op == "resize", "it is the user's own call"
    assert "it holds 3 calls" in str(node.args["why"])


def test_what_stands_between_two_opaque_calls_of_a_statement() -> None:
    chain = [
        op("Resize", "__R_40", "__Image_0", places=at(10), size=40.0),
        op("NoSuch", "__N_41", "__R_40", places=at(10)),
        op("Flip", "__F_42", "__N_41", places=at(10)),
        op("NoSuch", "__N_43", "__F_42", places=at(10)),
    ]
    found = brought(*READING[:2], *chain)
    (entry,) = found.report.opaque
    assert [node.id for node in found.graph.nodes] == ["R", "decode", "resize", entry.node]
    assert "it holds 3 calls" in entry.why


def test_one_call_keeps_its_own_words() -> None:
    (entry,) = brought(
        *READING[:2], op("NoSuch", "__N_1", "__Image_0", places=at(10))
    ).report.opaque
    assert entry.why == "fn.nosuch: a graph has no such operator yet"


def test_more_outputs_than_an_opaque_node_has() -> None:
    calls = [op("NoSuch", f"__N_{n}", "__Image_0", places=at(10)) for n in range(17)]
    gives = tuple(TracedInput(call.name, "cpu") for call in calls)
    traced = Traced(pipeline(*READING[:2], *calls, gives=gives), sources={FILE: SOURCE})
    found = import_traced(traced, CATALOG)
    assert len(found.report.opaque) == 17
    assert len(found.graph.outputs) == 17


def made_of(ops: list[TracedOp], lines: Lines) -> Made:
    makers = {edge: one for one in ops for edge, _ in one.outputs}
    return [(one, make_call(one, CATALOG, lines, makers)) for one in ops]


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[TracedOp], list[str]]:
    """Calls on any lines of the source, of which some are opaque, split or merge."""
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
