"""What the search is told besides operators and nodes."""

from __future__ import annotations

from tests.ui.screen import Make
from workbench.catalog import load_catalog
from workbench.catalog.templates import load_templates
from workbench.graph import Graph
from workbench.ui.contract.search_views import argument_entries, recipe_lines, template_entries


def test_a_template_says_which_operators_it_takes() -> None:
    (entry,) = template_entries([load_templates()["solarize"]])
    assert entry["label"] == "Solarize"
    assert entry["nodes"] == ["math.ge", "math.mul", "math.bitxor"]
    assert "RandomSolarize" in entry["synonyms"]


def test_arguments_are_those_of_the_operator_without_old_ones() -> None:
    names = [entry["name"] for entry in argument_entries(load_catalog(), "rotate")]
    assert "angle" in names
    assert "output_dtype" not in names
    assert argument_entries(load_catalog(), "") == []


def test_recipes_come_without_pictures() -> None:
    recipe = {"name": "cutout", "line": "A square is erased.", "picture": "data:..."}
    assert recipe_lines([recipe]) == [  # type: ignore[list-item]
        {"name": "cutout", "line": "A square is erased."}
    ]


def test_what_was_tried_at_a_place_is_kept_until_the_graph_changes(make: Make) -> None:
    model, screen = make()
    where = {"do": "compatible_ops", "node": "resize", "output": "output", "edge": ""}
    model.act("canvas", {**where, "tried": ["crop_mirror_normalize"]})
    model.act("canvas", {**where, "tried": ["hue", "nonsense"]})
    found = screen["canvas", "compatible_ops"]
    assert found["tried"] == ["crop_mirror_normalize", "hue"]
    assert found["reasons"]["crop_mirror_normalize"].startswith("rotate.data: it takes HWC")
    assert "hue" not in found["reasons"]
    model.set_graph(Graph())
    model.act("canvas", {**where, "node": "", "output": ""})
    assert screen["canvas", "compatible_ops"]["tried"] == []


def test_recipes_and_commands_are_asked_for_by_the_canvas(make: Make) -> None:
    model, screen = make()
    model.act("canvas", {"do": "recipe", "name": "cutout"})
    assert screen["bar", "title"] == "cutout"
    model.act("canvas", {"do": "new"})
    assert screen["canvas", "nodes"] == []
    model.act("canvas", {"do": "list_folders"})
    assert screen["canvas", "recent_folders"] == []
