"""Traced calls become a graph: ids, values, edges, sides, and a word on all that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.emit.pipeline_import.traces import FILE, decoder, op, pipeline, place, reader
from tests.helpers import CATALOG
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.pipeline_import.trace.call_order import in_call_order
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import (
    Traced,
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.graph import Port, check_graph
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
    assert listed.report.notes == ("R names its files itself: it reads no data folder",)
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
            (op("_conditional__Split", "__S_1", IMAGES, outputs=2), "cannot be told apart"),
            (
                op("experimental__readers__Fits", "__F_1", outputs=1),
                "no module of workbench.sources reads with it",
            ),
            (op("NoSuchThing", "__N_1", IMAGES), "no such operator"),
            (op("Rotate", "__Rotate_1", IMAGES, angle=1.0, wings=2), "argument wings"),
            (op("Rotate", "__Rotate_1", IMAGES, outputs=2, angle=1.0), "gives 2 outputs"),
            (op("Rotate", "__Rotate_1", IMAGES, IMAGES, angle=1.0), "no more than one input"),
            (op("Rotate", "__Rotate_1", IMAGES, interp_type=77), "interp_type=77 is no member"),
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
    assert "nothing reads images" not in str(found.report)
    assert found.report.faults == ()


def test_a_cell_shows_the_report() -> None:
    found = brought(reader(), decoder())
    assert repr(found) == f"ImportedGraph 'imported', {found.report}"
    assert repr(found).splitlines()[0].endswith("2 nodes: 2 exact, 0 changed, 0 opaque")


def test_settings_that_are_not_said_or_out_of_range() -> None:
    whole = pipeline(reader(), decoder())
    odd = TracedPipeline(whole.ops, whole.outputs, 0, 10**9, 1, 0, 3)
    found = import_traced(Traced(odd), CATALOG)
    assert (found.graph.settings.batch_size, found.graph.settings.num_threads) == (64, 4)
    assert found.graph.settings.prefetch_queue_depth == 3
    (refused,) = found.report.refused
    assert "batch_size: the source does not say it; it is 64 here" in found.report.notes
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
        f"prefetch_queue_depth={queues}: a graph cannot hold it; it is 5 here",
        "exec_async=False: a graph cannot hold it; it is left out",
        "device_id=3: a graph cannot hold it; it is left out",
    ]
    headline = "partly: 2 nodes: 2 exact, 0 changed, 0 opaque, 3 left out"
    assert str(report).startswith(f"{headline}\nrefused  prefetch")
    first_gpu = replace(pipeline(reader(), decoder()), device_id=0)
    assert import_traced(Traced(first_gpu), CATALOG).report.is_exact


def test_the_name_of_a_reader_that_cannot_be_an_id() -> None:
    images = op("decoders__Image", "__Image_0", TracedInput("my reader[0]", "cpu"))
    found = brought(reader("my reader"), images, op("Rotate", "turn it", IMAGES, angle=1.0))
    assert [node.id for node in found.graph.nodes] == ["my_reader", "decode", "turn_it"]
    why = "the source names it 'my reader': give the new name where that is used"
    assert entries(found, "changed") == {"my_reader": why}


def test_what_the_workbench_does_not_run_is_told_of() -> None:
    found = brought(reader(), decoder(), op("Rotate", "__Rotate_1", IMAGES))
    (fault,) = found.report.faults
    assert fault.node == "rotate"
    assert "fault    rotate: angle: rotate needs it" in str(found.report)
    assert found.report.is_exact


def test_idle_constants_are_left_out() -> None:
    constant = op("Constant", "__Constant_1", fdata=(1.0,))
    found = brought(reader(), constant, decoder())
    assert [node.op for node in found.graph.nodes] == ["readers.file", "decoders.image"]


# Calls stand in the order of the source.


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
