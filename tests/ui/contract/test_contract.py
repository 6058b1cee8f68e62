"""The contract with the front end: actions that are parsed, and types written for TypeScript."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from workbench.errors import GraphEditError
from workbench.ui.app.actions import ACTIONS
from workbench.ui.canvas.canvas_actions import Remove
from workbench.ui.canvas.insertions import Add
from workbench.ui.contract.action import parse_action, tag_of
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.inspector_payloads import ArgRow
from workbench.ui.contract.payloads import NodeEntry
from workbench.ui.preview.view_actions import OpenCloseup
from workbench.ui.typescript import PATH, payloads_source, ts_type

# Entries of an outbox become typed actions, or a sentence that says why not.


def test_an_entry_becomes_its_action() -> None:
    entry = {"n": 7, "view": "a", "do": "add", "op": "rotate", "after": ""}
    assert parse_action("canvas", ACTIONS["canvas"], entry) == Add("rotate", "")
    assert parse_action("canvas", ACTIONS["canvas"], {"do": "remove"}) == Remove([], [])


@pytest.mark.parametrize(
    ("component", "message", "words"),
    [
        (
            "canvas",
            {"do": "add", "op": 5, "after": ""},
            "canvas cannot add: op is 5. Expected `str`",
        ),
        ("canvas", {"do": "add", "op": "rotate"}, "missing required field `after`"),
        ("canvas", {"do": "move", "node": "a", "by": True}, "by is True. Expected `int`"),
        ("canvas", {"do": "place", "positions": {"a": ["x"]}}, r"positions is \{'a': \['x'\]\}."),
        ("canvas", {"do": "move", "node": "a", "by": "\ud800"}, "is not text"),
        ("preview", {"do": "choose_sample", "index": "2"}, "index is '2'. Expected `int`"),
        ("preview", {"do": "select", "node": "a"}, "preview has no action 'select'. Use one of: "),
        ("preview", {"do": ["undo"]}, "preview has no action"),
        ("preview", {}, "preview has no action None"),
        ("tabs", {"do": "undo"}, "tabs has no action 'undo'"),
    ],
)
def test_what_is_none_is_refused_with_a_sentence(
    component: str, message: dict[str, Any], words: str
) -> None:
    with pytest.raises(GraphEditError, match=words):
        parse_action(component, ACTIONS.get(component, ()), message)


def test_one_tag_means_one_action_of_a_component() -> None:
    for component, kinds in ACTIONS.items():
        tags = [tag_of(kind) for kind in kinds]
        assert len(set(tags)) == len(tags), component
    assert tag_of(OpenCloseup) == "open_closeup"


# payloads.ts payloads.py says and components.py say.


def test_the_file_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == payloads_source(), (
        "run python -m workbench.ui.typescript"
    )


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, "string"),
        (float | None, "number | null"),
        (list[float | None], "(number | null)[]"),
        (list[list[int]], "number[][]"),
        (dict[str, int], "Record<string, number>"),
        (Literal["cpu", "mixed"], '"cpu" | "mixed"'),
        (list[NodeEntry], "NodeEntry[]"),
    ],
)
def test_types(hint: object, expected: str) -> None:
    assert ts_type(hint) == expected


def test_a_type_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="not allowed in a payload"):
        ts_type(set[int])


def test_an_empty_payload_has_all_fields_that_are_required() -> None:
    row = empty(ArgRow, name="angle")
    assert (row["name"], row["mode"], row["low"], row["parts"]) == ("angle", "fixed", None, [])
    assert "random" not in row
    with pytest.raises(TypeError, match="ArgRow has no field nme"):
        empty(ArgRow, nme="angle")


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_every_component_has_a_module_and_a_row(component) -> None:  # type: ignore[no-untyped-def]
    assert (PATH.parent / f"{component.name}.tsx").is_file()
    assert f"  {component.name}: {{ fields: " in payloads_source()


def test_a_field_has_the_text_below_it() -> None:
    fields = {field.name: field for component in COMPONENTS for field in component.fields}
    assert fields["tiles"].doc == "Maximum number of samples shown, 4 to 64."
    assert (fields["tiles"].direction, fields["tiles"].default) == ("both", 16)


def test_no_field_hides_a_size() -> None:
    # A trait called height or width breaks Panel's own.
    names = {field.name for component in COMPONENTS for field in component.fields}
    assert not names & {"height", "width"}
