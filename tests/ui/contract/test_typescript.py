"""views.ts says what views.py and components.py say."""

from typing import Literal

import pytest

from workbench.ui.contract.components import COMPONENTS
from workbench.ui.contract.typescript import PATH, ts_type, views_source
from workbench.ui.contract.views import NodeEntry


def test_the_file_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == views_source(), (
        "run python -m workbench.ui.contract.typescript"
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
    with pytest.raises(TypeError, match="has no place in a view"):
        ts_type(set[int])


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_every_component_has_a_module_and_a_row(component) -> None:  # type: ignore[no-untyped-def]
    assert (PATH.parent / f"{component.name}.tsx").is_file()
    assert f"  {component.name}: {{ fields: " in views_source()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_lists_and_dicts_say_what_they_hold(component) -> None:  # type: ignore[no-untyped-def]
    for field in component.fields:
        if isinstance(field.default, (list, dict)):
            assert field.holds is not None, f"{component.name}.{field.name}"


def test_no_field_hides_a_size() -> None:
    # A trait called height or width breaks Panel's own.
    names = {field.name for component in COMPONENTS for field in component.fields}
    assert not names & {"height", "width"}
