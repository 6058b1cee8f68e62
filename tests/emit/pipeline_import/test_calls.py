"""Traced calls as nodes: operators, expressions, sizes, ids and names of outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nvidia.dali import Pipeline, backend, fn, pipeline_def, types

import workbench as wb
from tests.emit.pipeline_import.traces import FILE, decoder, op, place, reader
from tests.helpers import CATALOG, arrays_of, same, script_batches
from workbench.catalog.schema import successors
from workbench.catalog.spec import OPAQUE, Value
from workbench.emit.pipeline_import.calls.expressions import Expression, expression_node
from workbench.emit.pipeline_import.calls.nodes import Call, call_name, make_call, read_folder
from workbench.emit.pipeline_import.calls.older_names import with_todays_calls
from workbench.emit.pipeline_import.ids import NodeCalls, node_ids, output_names
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp
from workbench.graph.edits.edit import LONGEST
from workbench.graph.model import is_name

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
    (today,) = with_todays_calls([op("experimental__Equalize", "__E_1", IMAGES)])
    made = call(today)
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
    assert more.opaque == f"it has {usual + 1} outputs, but in a graph this operator has {usual}"


def test_an_opaque_call_keeps_all_its_edges() -> None:
    fed = (IMAGES, TracedInput("__U_1", "gpu", "wings"))
    made = call(op("Rotate", "__R_1", *fed, outputs=2, display="rotate"))
    assert made.op == "opaque.2"
    assert made.outputs == tuple(port.name for port in OPAQUE["opaque.2"].outputs)
    assert [edge.edge for edge in made.inputs.values()] == [IMAGES, "__U_1"]
    assert made.args["call"] == "fn.rotate"
    assert made.opaque == made.args["why"] == "a graph does not support its argument wings"
    many = call(op("NoSuch", "__N_1", outputs=40))
    assert len(many.outputs) == len(set(many.outputs)) == 40


@pytest.mark.parametrize(
    ("one", "called", "why"),
    [
        (
            op("_TensorSubscript", "__S_1", IMAGES, TracedInput("__U_1", "cpu", "at_0")),
            "[...]",
            "a position or range from another node is not supported",
        ),
        (
            op("_ArithmeticGenericOp", "__A_1", IMAGES, display="clamp"),
            "fn.clamp",
            "arithmetic with operands of these kinds is not supported",
        ),
        (
            op("readers___TFRecord", "__T_1", display="readers.tfrecord"),
            "fn.readers.tfrecord",
            "a graph has no such operator",
        ),
        (
            TracedOp(
                "readers___TFRecord", "T", "cpu", module="nvidia.dali.ops", display="TFRecord"
            ),
            "ops.TFRecord",
            "a graph has no such operator",
        ),
        (op("Shapes", "__S_1", IMAGES), "fn.shapes", "a graph has no such operator"),
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


# Ids and names of outputs are the user's own words where there are any, and always unique.


def made_of(*ops: TracedOp, lines: Lines | None = None) -> NodeCalls:
    lines = lines or Lines({}, ops)
    makers = {edge: one for one in ops for edge, _ in one.outputs}
    return [(one, make_call(one, CATALOG, lines, makers)) for one in ops]


def ids(*ops: TracedOp, outputs: tuple[str, ...] = ()) -> list[str]:
    return list(node_ids(made_of(*ops), outputs, CATALOG, Lines({}, ops)).values())


def names(edges: list[str], *ops: TracedOp) -> list[str]:
    return output_names(made_of(*ops), edges, CATALOG, Lines({}, ops))


def test_the_name_that_was_given_goes_first() -> None:
    assert ids(reader("Reader"), decoder()) == ["Reader", "decode"]
    twice = [op("Rotate", f"__Rotate_{n}", IMAGES, angle=1.0) for n in (1, 2)]
    assert ids(reader("rotate"), *twice) == ["rotate", "rotate_2", "rotate_3"]


def test_a_variable_that_one_call_was_assigned_to() -> None:
    source = "def pipe():\n    turned = fn.rotate(x)\n    x = fn.flip(x)\n    x = fn.flip(x)\n"
    ops = [
        op("Rotate", "__Rotate_1", IMAGES, angle=1.0, places=(place(2),)),
        op("Flip", "__Flip_2", "__Rotate_1", places=(place(3),)),
        op("Flip", "__Flip_3", "__Flip_2", places=(place(4),)),
    ]
    lines = Lines({FILE: source}, ops)
    made = made_of(*ops, lines=lines)
    assert list(node_ids(made, [], CATALOG, lines).values()) == ["turned", "flip", "flip_2"]
    taken = node_ids(made, ["turned"], CATALOG, lines)
    assert taken["__Rotate_1"] == "rotate", "the name is an output's"


def test_a_variable_that_is_no_word_is_no_id() -> None:
    source = (
        "def pipe():\n    kwargs = fn.rotate(x)\n    B = fn.flip(kwargs)\n    x1 = fn.flip(B)\n"
    )
    ops = [
        op("Rotate", "__Rotate_1", IMAGES, angle=1.0, places=(place(2),)),
        op("Flip", "__Flip_2", "__Rotate_1", places=(place(3),)),
        op("Flip", "__Flip_3", "__Flip_2", places=(place(4),)),
    ]
    lines = Lines({FILE: source}, ops)
    found = node_ids(made_of(*ops, lines=lines), [], CATALOG, lines)
    assert list(found.values()) == ["rotate", "flip", "flip_2"]


def test_what_is_drawn_is_called_after_its_argument() -> None:
    angle = op("random__Uniform", "__Uniform_1")
    turned = op("Rotate", "__Rotate_2", IMAGES, TracedInput("__Uniform_1", "cpu", "angle"))
    assert ids(angle, turned) == ["angle", "rotate"]
    assert ids(angle) == ["uniform"]


def test_outputs_are_called_after_what_they_are() -> None:
    ops = (reader(), decoder(), op("Flip", "__Flip_1", IMAGES))
    assert names(["__Flip_1", "R[1]", IMAGES], *ops) == ["images", "labels", "images_2"]
    strange = op("NoSuch", "__N_1", IMAGES)
    assert names(["__N_1"], *ops, strange) == ["values"]


def test_outputs_are_called_as_returned() -> None:
    source = "def pipe():\n    a = fn.flip(x)\n    return a.gpu(), a\n"
    ops = [op("Flip", "__Flip_1", IMAGES, places=(place(2),))]
    lines = Lines({FILE: source}, ops)
    found = output_names(made_of(*ops, lines=lines), ["__Flip_1"] * 2, CATALOG, lines)
    assert found == ["a", "a_2"]


@given(st.lists(st.text(max_size=LONGEST + 20).filter(bool), min_size=1, max_size=8, unique=True))
def test_any_names_become_unique_python_names(given_names: list[str]) -> None:
    ops = [op("Flip", name, IMAGES) for name in given_names]
    found = ids(*ops, outputs=("images", "flip"))
    assert len({*found, "images", "flip"}) == len(found) + 2
    assert all(is_name(one) and len(one) <= LONGEST for one in found)


MAKERS = {
    "image": TracedOp("Resize", "resize", "cpu", (TracedInput("decoded", "cpu"),)),
    "other": TracedOp("Flip", "flip", "cpu", (TracedInput("image", "cpu"),)),
    "drawn": TracedOp("random__Uniform", "draw", "cpu"),
    "noise": TracedOp("random__Normal", "noise", "cpu", (TracedInput("image", "cpu"),)),
    "drawn_gpu": TracedOp("random__Uniform", "draw", "gpu"),
}


BOTH: Mapping[str, Value] = {"real_constants": (0.0,), "integer_constants": (1,)}


def arithmetic(desc: str, *edges: str, **args: Value) -> Expression | None:
    inputs = tuple(TracedInput(edge, "cpu") for edge in edges)
    given: Mapping[str, Value] = {"expression_desc": desc, **args}
    return expression_node(TracedOp("_ArithmeticGenericOp", "it", "cpu", inputs, (), given), MAKERS)


@pytest.mark.parametrize(
    ("desc", "edges", "args", "made"),
    [
        (
            "mul(&0 $0:float32)",
            ["image"],
            {"real_constants": (0.10000000149011612,)},
            Expression("math.mul", {"right": 0.1}, {"data": "image"}),
        ),
        (
            "sub($0:int32 &0)",
            ["image"],
            {"integer_constants": (1,)},
            Expression("math.sub", {"left": 1, "constant_type": "INT32"}, {"data": "image"}),
        ),
        (
            "bitand(&0 $0:int32)",
            ["image"],
            {"integer_constants": 240},
            Expression("math.bitand", {"right": 240}, {"data": "image"}),
        ),
        (
            "add(&0 $0:uint8)",
            ["image"],
            {"integer_constants": (5,)},
            Expression("math.add", {"right": 5, "constant_type": "UINT8"}, {"data": "image"}),
        ),
        (
            "eq(&0 $0:bool)",
            ["image"],
            {"integer_constants": (1,)},
            Expression("math.eq", {"right": 1, "constant_type": "BOOL"}, {"data": "image"}),
        ),
        ("minus(&0)", ["image"], {}, Expression("math.neg", {}, {"data": "image"})),
        (
            "clamp(&0 $0:float32 &1)",
            ["image", "other"],
            {"real_constants": (0.0,)},
            Expression("math.clamp", {"lo": 0.0}, {"data": "image", "hi_input": "other"}),
        ),
    ],
)  # fmt: skip
def test_arithmetic(desc: str, edges: list[str], args: dict[str, Value], made: Expression) -> None:
    assert arithmetic(desc, *edges, **args) == made


@pytest.mark.parametrize(
    ("left", "right", "ports"),
    [
        ("image", "other", {"data": "image", "other": "other"}),
        ("image", "noise", {"data": "image", "other": "noise"}),
        ("image", "drawn", {"data": "image", "right": "drawn"}),
        ("drawn", "image", {"data": "image", "left": "drawn"}),
        ("drawn", "drawn", {"data": "drawn", "right": "drawn"}),
        ("image", "drawn_gpu", {"data": "image", "other": "drawn_gpu"}),
        ("image", "image", {"data": "image", "other": "image"}),
    ],
)
def test_two_edges(left: str, right: str, ports: dict[str, str]) -> None:
    """A generator replaces a constant, as when a user makes it random."""
    assert arithmetic("pow(&0 &1)", left, right) == Expression("math.pow", {}, ports)


def test_a_comparison_has_its_constant_on_the_right() -> None:
    """As Python has it, which turns ``1 < x`` round."""
    made = Expression("math.lt", {}, {"data": "drawn", "other": "image"})
    assert arithmetic("lt(&0 &1)", "drawn", "image") == made


@pytest.mark.parametrize(
    ("desc", "edges", "args"),
    [
        ("clamp(&0 $0:float32 $0:int32)", ["image"], BOTH),
        ("clamp($0:float32 &0 &1)", ["image", "other"], {"real_constants": (0.0,)}),
        ("add(&0 $0:float16)", ["image"], {"real_constants": (0.5,)}),
        ("add(&0 $0:float32)", ["image"], {}),
        ("bitand(&0 $0:float32)", ["image"], {"real_constants": (0.5,)}),
        ("add(&0 &1)", ["image"], {}),
        ("add(&0)", ["image"], {}),
        ("hypot(&0 &1)", ["image", "other"], {}),
        ("add(&0 mul(&1 &2))", ["image", "other", "noise"], {}),
        ("lt($0:float32 &0)", ["image"], {"real_constants": (0.5,)}),
        ("", [], {}),
    ],
)  # fmt: skip
def test_what_a_graph_cannot_hold(desc: str, edges: list[str], args: dict[str, Value]) -> None:
    assert arithmetic(desc, *edges, **args) is None


def subscript(schema: str, *inputs: TracedInput, **args: Value) -> Expression | None:
    given = inputs or (TracedInput("image", "cpu"),)
    return expression_node(TracedOp(schema, "it", "cpu", given, (), args), MAKERS)


@pytest.mark.parametrize(
    ("args", "index"),
    [
        ({"at_0": 0, "num_subscripts": 1}, "0"),
        ({"lo_1": 3, "hi_1": 9, "num_subscripts": 2}, ":, 3:9"),
        ({"step_0": -1, "at_2": -1, "num_subscripts": 3}, "::-1, :, -1"),
    ],
)
def test_indexing(args: dict[str, Value], index: str) -> None:
    made = Expression("subscript", {"index": index}, {"data": "image"})
    assert subscript("_TensorSubscript", **args) == made


def test_indexing_that_only_counts_axes() -> None:
    made = Expression("subscript", {"index": ":, :"}, {"data": "image"})
    assert subscript("_SubscriptDimCheck", num_subscripts=2) == made


def test_an_index_from_a_node_is_not_held() -> None:
    inputs = (TracedInput("image", "cpu"), TracedInput("drawn", "cpu", "at_0"))
    assert subscript("_TensorSubscript", *inputs, num_subscripts=1) is None
    assert subscript("_TensorSubscript", num_subscripts=0) is None
    assert subscript("Rotate", num_subscripts=1) is None


def test_what_an_older_operator_does_by_default_is_kept() -> None:
    """Wherever DALI's schemas of the older and of today's operator have other defaults."""
    differing = {}
    for old, new in successors().items():
        before, today = backend.GetSchema(old), backend.GetSchema(new)
        shared = {*before.GetArgumentNames()} & {*today.GetArgumentNames()}
        for name in shared - {"seed"}:
            defaults = [
                schema.GetArgumentDefaultValueString(name)
                for schema in (before, today)
                if schema.HasArgumentDefaultValue(name)
            ]
            if len({*defaults}) > 1:
                differing[old, name] = defaults[0]
    assert differing == {("FastResizeCropMirror", "antialias"): "False"}
    plain, told = with_todays_calls(
        [
            op("FastResizeCropMirror", "__F_1", IMAGES),
            op("FastResizeCropMirror", "__F_2", IMAGES, antialias=True),
        ]
    )
    assert (plain.schema, plain.args["antialias"]) == ("ResizeCropMirror", False)
    assert told.args["antialias"] is True


# Sizes that a resize saves, and shapes by DALI's older name, as values of ``shape``.


def made(what: str, photos: Path) -> Any:
    pipe = Pipeline(batch_size=4, num_threads=2, device_id=None, seed=3)
    with pipe, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jpegs, _ = fn.readers.file(file_root=str(photos), name="reader")
        images = fn.decoders.image(jpegs)
        if what == "save_attrs":
            values = fn.resize(images, resize_shorter=64, save_attrs=True)
        else:
            dtype = {"dtype": types.FLOAT} if what == "FLOAT" else {}
            values = [fn.resize(images, resize_shorter=64), fn.shapes(images, **dtype)]
        pipe.set_outputs(*values)
    return pipe


@pytest.mark.parametrize("what", ["save_attrs", "shapes", "FLOAT"])
def test_the_values_are_those_of_the_original(what: str, photos: Path, tmp_path: Path) -> None:
    pipe = made(what, photos)
    found = wb.from_pipeline(pipe)
    assert found.report.is_exact, str(found.report)
    pipe.build()
    for batch in script_batches(found.graph, photos, 2, tmp_path):
        for ours, theirs in zip(batch, pipe.run(), strict=True):
            assert same(ours, arrays_of(theirs))


def test_what_sequences_save_stays_a_call_that_the_graph_cannot_hold() -> None:
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=0)
    with pipe:
        frames = fn.readers.video(filenames=["a.mp4"], sequence_length=3, device="gpu")
        pipe.set_outputs(*fn.resize(frames, resize_shorter=64, save_attrs=True))
    assert "save_attrs" in str(wb.from_pipeline(pipe).report)


def test_shapes_of_images_on_the_gpu_are_copied_there() -> None:
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=0, seed=3)
    with pipe, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jpegs, _ = fn.readers.file(file_root="photos", name="reader")
        images = fn.decoders.image(jpegs, device="mixed")
        pipe.set_outputs(images, fn.shapes(images), fn.shapes(images, dtype=types.INT32))
    found = wb.from_pipeline(pipe)
    assert found.report.is_exact, str(found.report)
    assert not found.report.faults
    text = wb.export(found.graph).main.text
    assert text.count(".shape()") == 2
    assert text.count(".gpu()") == 2


@pytest.mark.gpu
def test_shapes_on_the_gpu_are_those_of_dali(photos: Path, tmp_path: Path) -> None:
    @pipeline_def(batch_size=3, num_threads=2, device_id=0, seed=3)
    def sizes() -> Any:
        jpegs, _ = fn.readers.file(file_root=str(photos), name="reader")
        return fn.shapes(fn.decoders.image(jpegs, device="mixed"), dtype=types.FLOAT)

    found = wb.from_pipeline(sizes())
    theirs = sizes()
    theirs.build()
    ((ours,),) = script_batches(found.graph, photos, 1, tmp_path)
    assert same(ours, arrays_of(theirs.run()[0]))
