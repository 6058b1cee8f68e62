"""The README names every command, recipe and panel, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.cli import TARGETS, main
from workbench.graph import load_recipes

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", list(main.commands))
def test_every_command_is_shown(command: str) -> None:
    assert f"workbench {command}" in README


def test_no_other_command_is_shown() -> None:
    assert set(re.findall(r"`workbench (\w+)", README)) <= set(main.commands)


@pytest.mark.parametrize("recipe", list(load_recipes()))
def test_every_recipe_is_shown(recipe: str) -> None:
    assert f"`{recipe}`" in README


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_shown(target: str) -> None:
    assert f"\n| `{target}` |" in README


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_make_target_is_real() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([\w-]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
