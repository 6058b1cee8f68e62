"""Hints for names of other libraries, and for methods that a graph does not have."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.catalog import familiar_names
from workbench.catalog.familiar_names import nearest_arguments, nearest_operators
from workbench.ui.notebook.widget import Workbench

OPERATORS = {
    "RandomHorizontalFlip": "flip",
    "HorizontalFlip": "flip",
    "hflip": "flip",
    "ColorJitter": "color_twist",
    "resized_crop": "random_resized_crop",
    "RandomResizedCrop": "random_resized_crop",
    "Rotate": "rotate",
    "gausian_blur": "gaussian_blur",
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
    assert not {*familiar_names._OPERATORS.values()} - {*catalog}
    assert not {*familiar_names._ARGUMENTS.values()} - arguments
    assert not {key for key in familiar_names._OPERATORS if key != key.lower() or "_" in key}


def test_arguments_of_torchvision_lead_to_those_of_dali() -> None:
    graph = wb.load_recipe("rotate-jitter")
    wrong: Any = {"scale": (0.1, 1.0)}
    with pytest.raises(wb.GraphEditError, match=r"Did you mean random_area\?"):
        graph.random_resized_crop(size=(8, 8), **wrong)
    with pytest.raises(wb.GraphEditError, match=r"Did you mean angle\?"):
        graph["rotate"].set(degrees=3)
    with pytest.raises(AttributeError, match=r"Did you mean angle\?"):
        _ = graph["rotate"].degrees
    assert nearest_arguments("scale", ["size", "scal"]) == ["scal"]


@pytest.mark.parametrize("name", ["batch", "show", "save", "loader", "to_code"])
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
