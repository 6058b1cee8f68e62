"""README.md is a newcomer's page; what it links to names every command, recipe and target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from workbench.cli import TARGETS, main
from workbench.graph import load_recipes

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
LONGEST = 150
"""Lines of README.md."""
LARGEST_PICTURE = 2_000_000
"""Bytes."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def links(page: Path) -> set[tuple[Path, str]]:
    """Page or file, and the heading there, of every link."""
    return {
        ((page.parent / path).resolve() if path else page, anchor)
        for path, anchor in LINK.findall(page.read_text())
    }


def linked_pages() -> list[Path]:
    """README.md and every page that it leads to, in any number of steps."""
    found, waiting = [], [README]
    while waiting:
        page = waiting.pop()
        if page not in found and page.suffix == ".md" and page.exists():
            found.append(page)
            waiting += sorted(path for path, _ in links(page))
    return found


PAGES = {str(page.relative_to(ROOT)): page for page in linked_pages()}
WORDS = {name: page.read_text() for name, page in PAGES.items()}


def anchors(page: Path) -> set[str]:
    """The headings' names as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles]
    return {
        *names,
        *(f"{name}-{number}" for name in names for number in range(1, names.count(name))),
    }


def test_the_first_page_is_short() -> None:
    assert len(README.read_text().splitlines()) <= LONGEST


def test_its_moving_picture_is_small_and_says_where_it_was_recorded() -> None:
    moving = ROOT / "assets" / "screenshots" / "slider.webp"
    assert moving.stat().st_size <= LARGEST_PICTURE
    assert {moving, moving.with_suffix(".json")} <= {path for path, _ in links(README)}


def test_every_page_is_linked() -> None:
    written = {*ROOT.glob("workbench/**/*.md"), *ROOT.glob("tests/**/*.md")}
    own = {page for page in written if "node_modules" not in page.parts}
    assert {str(page.relative_to(ROOT)) for page in own} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), path
        assert not anchor or anchor in anchors(path), f"{path}: no heading {anchor}"


@pytest.mark.parametrize("command", list(main.commands))
def test_every_command_is_shown(command: str) -> None:
    assert f"| `workbench {command}" in WORDS["workbench/commands/README.md"]


def test_no_other_command_is_shown() -> None:
    for name, text in WORDS.items():
        assert set(re.findall(r"`workbench (\w+)", text)) <= set(main.commands), name


@pytest.mark.parametrize("recipe", list(load_recipes()))
def test_every_recipe_is_shown(recipe: str) -> None:
    assert f"\n| `{recipe}` |" in WORDS["workbench/graph/storage/recipes/README.md"]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_shown(target: str) -> None:
    assert f"\n| `{target}` |" in WORDS["workbench/emit/targets/README.md"]


def test_every_make_target_is_real() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in {word for text in WORDS.values() for word in re.findall(r"`make ([\w-]+)", text)}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_record_that_is_named_is_there() -> None:
    text = WORDS["assets/benchmarks/README.md"]
    records = {path.stem for path in (ROOT / "assets" / "benchmarks").glob("*.json")}
    named = re.findall(r"`([\w.-]+-(?:2-cores|h200)|perf-cpu)`", text)
    assert named
    assert set(named) <= records


def test_the_python_of_the_first_page_runs(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "photos").symlink_to(photos)
    monkeypatch.chdir(tmp_path)
    *lines, last = code.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    shown = eval(last, names)
    assert shown.graph["rotate"].angle == 10
    shown.close()


def test_the_first_snippet_runs_in_a_fresh_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text()
    assert "workbench samples photos" in text.partition("```python")[0]
    wb.write_samples("photos")
    names: dict[str, object] = {}
    for source in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        *rest, last = source.strip().splitlines()
        exec("\n".join([*rest, f"shown = {last}"]), names)
        shown = names["shown"]
        assert isinstance(shown, wb.Workbench)
        shown.close()
