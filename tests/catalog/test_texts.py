"""What the catalogue says: texts of operators, tables of them, and names of other libraries."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

import workbench as wb
from workbench.catalog import Catalog
from workbench.catalog.familiar_names import nearest_arguments, nearest_operators
from workbench.catalog.listing import list_operators
from workbench.catalog.schema import first_sentence, plain_text
from workbench.catalog.tables import read_tables
from workbench.graph.builder.graph_methods import METHODS
from workbench.ui.notebook.widget import Workbench


@pytest.mark.parametrize(
    ("rst", "text"),
    [
        ("Rotates `image` by ``angle``.", "Rotates image by angle."),
        ("See :meth:`nvidia.dali.fn.rotate`.", "See nvidia.dali.fn.rotate."),
        ("Use :func:`per-frame<nvidia.dali.fn.per_frame>` inputs.", "Use per-frame inputs."),
        ("A `paper <https://example.org>`_ says.", "A paper says."),
        ("Applies **only** to *volumes*.", "Applies only to volumes."),
        ('``["*.jpg", "*.png"]``', '["*.jpg", "*.png"]'),
        ("Two\nlines.\n\nTwo paragraphs.", "Two lines.\n\nTwo paragraphs."),
        (".. note::\n  Mind\n  this.", "Note: \nMind this.".replace("\n", "")),
        ("* | ``a`` - one,\n  | more\n* b", "• a - one, more\n• b"),
        ("1. one\n2. two", "1. one\n2. two"),
        (
            "The formula::\n\n  a = b\n      + c\n\nEnd.",
            "The formula:\n\n  a = b\n      + c\n\nEnd.",
        ),
        (".. math:: x + y", "x + y"),
        ("A table\n\n.. list-table::\n   :header-rows: 0\n\n   * - R\n\nEnd.", "A table\n\nEnd."),
    ],
)
def test_plain_text(rst: str, text: str) -> None:
    assert plain_text(rst) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Rotates. And more.", "Rotates."),
        ("Crops, e.g. at random, an image.\n\nMore.", "Crops, e.g. at random, an image."),
        ("Uses this formula:\n\n  a = b", "Uses this formula"),
        ("Version 1.5 of it.", "Version 1.5 of it."),
        ("no full stop", "no full stop"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_no_markup_is_left_in_what_the_inspector_shows(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is None:
            for text in (op.doc, op.summary, *(arg.doc for arg in op.args.values())):
                text = text.replace("std::", "")  # a name in C++, no markup
                for mark in ("``", ":meth:", ":func:", ":ref:", ".. ", "::"):
                    assert mark not in text, f"{op.name}: {mark!r} is left in {text!r}"


def test_every_operator_has_a_summary_of_one_line(catalog: Catalog) -> None:
    for op in catalog.values():
        assert op.summary, op.name
        assert "\n" not in op.summary, op.name


def row(catalog: Catalog, name: str) -> str:
    lines = list_operators(catalog).splitlines()
    return next(line for line in lines if line.split(" ", 1)[0] == name)


def test_the_table_has_a_line_for_each_operator(catalog: Catalog) -> None:
    head, *lines = list_operators(catalog).splitlines()
    assert head.split() == ["operator", "category", "devices", "arguments", "usable"]
    assert {line.split(" ", 1)[0] for line in lines[:-2]} == set(catalog)
    usable = sum(op.unusable is None for op in catalog.values())
    assert lines[-1] == (
        f"{len(catalog)} operators of DALI {catalog.dali_version}, {usable} usable."
    )


def test_a_line_says_whether_it_can_be_used_or_why_not(catalog: Catalog) -> None:
    assert row(catalog, "rotate").split()[1:] == ["geometry", "cpu", "gpu", "9", "yes"]
    assert row(catalog, "jitter").endswith("yes, on a GPU")
    assert row(catalog, "debayer").endswith(f"no: {catalog['debayer'].unusable}")


def test_the_json_holds_everything(catalog: Catalog) -> None:
    document = json.loads(list_operators(catalog, as_json=True))
    assert document["dali"] == catalog.dali_version
    operators = {op["name"]: op for op in document["operators"]}
    assert set(operators) == set(catalog)
    angle = operators["rotate"]["args"]["angle"]
    assert angle["required"] is True
    assert angle["start"] == catalog["rotate"].args["angle"].start
    jpegs = operators["readers.file"]["outputs"][0]
    assert (jpegs["name"], jpegs["kind"], jpegs["gives"]["dtype"]) == ("jpegs", "encoded", "UINT8")
    assert operators["debayer"]["unusable"]


# Hints for names of other libraries, and for methods that a graph does not have.

OPERATORS = {
    "RandomHorizontalFlip": "flip",
    "HorizontalFlip": "flip",
    "hflip": "flip",
    "ColorJitter": "color_twist",
    "resized_crop": "random_resized_crop",
    "RandomResizedCrop": "random_resized_crop",
    "Rotate": "rotate",
    "gausian_blur": "gaussian_blur",
    "Normalize": "crop_mirror_normalize",
    "ToTensor": "crop_mirror_normalize",
    "ShiftScaleRotate": "warp_affine",
}


@pytest.mark.parametrize(("name", "meant"), OPERATORS.items())
def test_a_name_of_another_library_leads_to_the_operator(name: str, meant: str) -> None:
    graph = wb.load_recipe("rotate-jitter")
    for owner in (graph, graph.images, wb.fn):
        with pytest.raises(AttributeError, match=rf"Did you mean {meant}\b"):
            getattr(owner, name)
    with pytest.raises(wb.CatalogError, match=rf"Did you mean {meant}\b"):
        wb.load_catalog()[name]
    assert nearest_operators(name, wb.load_catalog())[0] == meant


def test_all_names_in_the_tables_exist() -> None:
    catalog = wb.load_catalog()
    arguments = {name for spec in catalog.values() for name in spec.args}
    operators, methods, named, values = read_tables("familiar_names.toml").values()
    assert not {*operators.values()} - {*catalog}
    assert not {*methods.values()} - {*METHODS}
    choices = {
        value for spec in catalog.values() for arg in spec.args.values() for value in arg.members
    } | {value for spec in catalog.values() for arg in spec.args.values() for value in arg.choices}
    for table, known in ((named, arguments), (values, choices)):
        meant = [(each,) if isinstance(each, str) else each for each in table.values()]
        assert not {*chain(*meant)} - known
    assert not {key for key in operators if key != key.lower() or "_" in key}


def test_arguments_of_torchvision_lead_to_those_of_dali() -> None:
    graph = wb.load_recipe("rotate-jitter")
    wrong: Any = {"scale": (0.1, 1.0)}
    with pytest.raises(wb.GraphEditError, match=r"Did you mean random_area\?"):
        graph.random_resized_crop(size=(8, 8), **wrong)
    wrong = {"scale": (8, 8)}
    with pytest.raises(wb.GraphEditError, match=r"Did you mean size\?"):
        graph.resize(**wrong)
    with pytest.raises(wb.GraphEditError, match=r"Did you mean angle\?"):
        graph["rotate"].set(degrees=3)
    with pytest.raises(AttributeError, match=r"Did you mean angle\?"):
        _ = graph["rotate"].degrees
    assert nearest_arguments("scale", ["size", "scal"]) == ["size"]
    assert nearest_arguments("scale", ["sise", "scal"]) == ["scal"]


@pytest.mark.parametrize("name", ["loader", "to_code", "preview"])
def test_a_graph_names_the_function_of_the_workbench(name: str) -> None:
    with pytest.raises(AttributeError, match=r"Use wb\.") as failed:
        getattr(wb.load_recipe("rotate-jitter"), name)
    assert "Did you mean" not in str(failed.value)
    function = str(failed.value).split("Use wb.")[1].partition("(")[0]
    assert function in wb.__all__


@pytest.mark.parametrize("name", ["show", "tab", "show_tab", "on_field", "outbox"])
def test_a_workbench_never_suggests_a_private_name(name: str) -> None:
    class Bare:
        def __dir__(self) -> list[str]:
            return dir(Workbench)

    bare: Any = Bare()
    with pytest.raises(AttributeError) as failed:
        Workbench.__getattr__(bare, name)
    assert "Did you mean _" not in str(failed.value)
