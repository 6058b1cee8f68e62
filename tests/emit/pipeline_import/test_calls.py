"""A traced call becomes a call of the graph's operator, or says why it cannot."""

from __future__ import annotations

import pytest

from tests.emit.pipeline_import.traces import op, reader
from workbench.catalog import load_catalog
from workbench.catalog.spec import OPAQUE, Value
from workbench.emit.pipeline_import.calls.nodes import Call, call_name, make_call, read_folder
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

CATALOG = load_catalog()
IMAGES = "__Image_0"
BOXES, LABELS = TracedInput("boxes", "cpu"), TracedInput("labels", "cpu")


def call(one: TracedOp, folder: Value | None = None) -> Call:
    return make_call(one, CATALOG, Lines({}, [one]), {}, folder)


@pytest.mark.parametrize(
    ("held", "value"),
    [
        ({"angle": 15.0}, 15),
        ({"angle": 1.5}, 1.5),
        ({"interp_type": 1}, "INTERP_LINEAR"),
        ({"size": (30.0, 20.5)}, (30, 20.5)),
        ({"keep_size": True}, True),
    ],
)
def test_values_are_written_as_people_do(held: dict[str, Value], value: Value) -> None:
    made = call(op("Rotate", "__R_1", IMAGES, **held))
    (got,) = made.args.values()
    assert (got, type(got)) == (value, type(value))
    assert made.opaque is None


def test_the_seed_is_the_graphs_affair() -> None:
    assert call(op("random__Uniform", "__U_1", seed=5, range=(0.0, 1.0))).args == {"range": (0, 1)}


def test_an_operator_that_has_moved_since() -> None:
    made = call(op("experimental__Equalize", "__E_1", IMAGES))
    assert (made.op, made.opaque) == ("equalize", None)


def test_the_folder_is_left_to_whoever_runs_the_graph() -> None:
    ours, other = reader("a", file_root="photos"), reader("b", file_root="masks")
    listed = reader("c", file_root="photos", file_list="list.txt")
    assert read_folder([listed, ours, other]) == "photos"
    assert read_folder([listed]) is None
    made = call(ours, "photos")
    assert (made.args, made.folder) == ({}, "photos")
    made = call(other, "photos")
    assert (made.args, made.folder) == ({"file_root": "masks"}, None)
    assert call(listed, "photos").args["file_root"] == "photos"


def test_ports_by_position_and_by_name() -> None:
    angle = TracedInput("__U_1", "cpu", "angle")
    made = call(op("Rotate", "__R_1", IMAGES, angle))
    assert {port: edge.edge for port, edge in made.inputs.items()} == {
        "data": IMAGES, "angle": "__U_1",
    }  # fmt: skip
    stacked = call(op("Stack", "__S_1", *"abcd"))
    assert list(stacked.inputs) == ["input_0", "input_1", "input_2", "input_3"]


@pytest.mark.parametrize("name", ["RandomBBoxCrop", "BBoxRotate"])
def test_outputs_that_an_optional_input_adds(name: str) -> None:
    usual = 3 if name == "RandomBBoxCrop" else 1
    without = call(op(name, "__B_1", BOXES, outputs=usual))
    beside = call(op(name, "__B_1", BOXES, LABELS, outputs=usual + 1))
    assert without.opaque is beside.opaque is None
    assert beside.outputs == (*without.outputs, "labels")
    assert beside.inputs["labels"] == LABELS
    more = call(op(name, "__B_1", BOXES, outputs=usual + 1))
    assert more.opaque == f"it gives {usual + 1} outputs, and in a graph {usual}"


def test_an_opaque_call_keeps_all_its_edges() -> None:
    fed = (IMAGES, TracedInput("__U_1", "gpu", "wings"))
    made = call(op("Rotate", "__R_1", *fed, outputs=2, display="rotate"))
    assert made.op == "opaque.2"
    assert made.outputs == tuple(port.name for port in OPAQUE["opaque.2"].outputs)
    assert [edge.edge for edge in made.inputs.values()] == [IMAGES, "__U_1"]
    assert made.args["call"] == "fn.rotate"
    assert made.opaque == made.args["why"] == "a graph cannot hold its argument wings"
    many = call(op("NoSuch", "__N_1", outputs=40))
    assert len(many.outputs) == len(set(many.outputs)) == 40


@pytest.mark.parametrize(
    ("one", "called", "why"),
    [
        (
            op("_TensorSubscript", "__S_1", IMAGES, TracedInput("__U_1", "cpu", "at_0")),
            "[...]",
            "a place or range that another node gives: not yet",
        ),
        (
            op("_ArithmeticGenericOp", "__A_1", IMAGES, display="clamp"),
            "fn.clamp",
            "arithmetic with operands of these kinds: not yet",
        ),
        (
            op("readers___TFRecord", "__T_1", display="readers.tfrecord"),
            "fn.readers.tfrecord",
            "a graph has no such operator yet",
        ),
        (
            TracedOp(
                "readers___TFRecord", "T", "cpu", module="nvidia.dali.ops", display="TFRecord"
            ),
            "ops.TFRecord",
            "a graph has no such operator yet",
        ),
        (op("Shapes", "__S_1", IMAGES), "fn.shapes", "a graph has no such operator yet"),
    ],
)
def test_what_a_graph_has_no_operator_for(one: TracedOp, called: str, why: str) -> None:
    made = call(one)
    assert (made.args["call"], made.opaque) == (called, why)


def test_what_was_called() -> None:
    assert call_name(op("Rotate", "__R_1")) == "fn.rotate"
    assert (
        call_name(TracedOp("X", "x", "cpu", module="nvidia.dali.math", display="add")) == "math.add"
    )
    assert call_name(TracedOp("X", "x", "cpu", module="mine.ops", display="do")) == "mine.ops.do"
    assert call_name(TracedOp("X", "x", "cpu")) == ""


def test_the_catalogue_is_sorted_by_schema_once() -> None:
    assert CATALOG.by_schema is CATALOG.by_schema
    assert CATALOG.by_schema["readers__File"] is CATALOG["readers.file"]
