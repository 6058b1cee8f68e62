"""Ids and names of outputs are the user's own words where there are any, and always unique."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.traces import FILE, decoder, op, place, reader
from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.calls.nodes import make_call
from workbench.emit.pipeline_import.ids import Made, node_ids, output_names
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp
from workbench.graph.edits.rename import LONGEST
from workbench.graph.model import is_name

CATALOG = load_catalog()
IMAGES = "__Image_0"


def made_of(*ops: TracedOp, lines: Lines | None = None) -> Made:
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
