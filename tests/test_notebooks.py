"""The notebooks' form: one question each, a guess before the answer, outputs saved, tidy, small.

``make test-all`` executes them. Outputs are renewed by ``python -m tests.notebook_outputs``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.notebook_outputs import COLLAPSED, FOLDER, read, tidy

pytestmark = pytest.mark.xdist_group("nbformat")  # it takes 2 s to import

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST = 300_000
"""Bytes of a notebook with its outputs."""
MACHINE_PATH = re.compile(r"/(home|root|tmp|usr|work|Users)/")


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def test_they_are_numbered_and_the_first_leads_to_the_others() -> None:
    numbers = range(1, len(NOTEBOOKS) + 1)
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in numbers]
    table = read(NOTEBOOKS[0]).cells[-1].source
    for path in NOTEBOOKS[1:]:
        title = read(path).cells[0].source.splitlines()[0].removeprefix("# ")
        assert f"]({path.name}) | {title} |" in table


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    def test_it_asks_one_question(self, path: Path) -> None:
        words = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
        titles = re.findall(r"^# (.+)$", "\n".join(words), re.MULTILINE)
        assert len(titles) == 1
        assert titles[0].endswith("?")
        assert words[0].startswith("# ")

    def test_a_guess_stands_before_the_answer(self, path: Path) -> None:
        guesses = [
            number
            for number, cell in enumerate(code_cells(path))
            if re.search(r"\bguess\b", cell.source)
        ]
        first, *later = guesses
        assert code_cells(path)[first].source.startswith("guess = ")
        assert later, "the answer does not come back to the guess"

    def test_the_answer_is_collapsed_until_the_reader_opens_it(self, path: Path) -> None:
        cells = read(path).cells
        (at,) = (n for n, cell in enumerate(cells) if cell.source.startswith("guess = "))
        answers = [cell for cell in cells[at + 1 :] if re.search(r"\bguess\b", cell.source)]
        assert answers
        for cell in answers:
            titles = [each for each in cells[: cells.index(cell)] if each.source.startswith("## ")]
            if cell.cell_type == "code":
                assert titles[-1].metadata.get(COLLAPSED), cell.source
        for cell in cells[at + 1 :]:  # text above a title in its cell is visible with the title
            open_text = re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL).strip()
            if cell.cell_type == "markdown" and re.search(r"^## ", open_text, re.MULTILINE):
                assert open_text.startswith("## ")

    def test_it_imports_the_package_alone(self, path: Path) -> None:
        text = "\n".join(cell.source for cell in code_cells(path))
        assert "import workbench as wb" in text
        assert not re.findall(r"^\s*(?:from workbench|import workbench\.).*", text, re.MULTILINE)

    def test_it_is_tidy_and_small(self, path: Path) -> None:
        assert path.stat().st_size <= MOST
        assert read(path) == tidy(read(path)), f"python -m tests.notebook_outputs {path}"
        assert not MACHINE_PATH.search(path.read_text())

    def test_its_outputs_are_saved_and_none_is_an_error(self, path: Path) -> None:
        cells = code_cells(path)
        assert cells[-1].outputs, "it was not run to its end"
        for cell in cells:
            for output in cell.outputs:
                assert output.output_type != "error"
                assert "Traceback" not in output.get("text", "")


@pytest.mark.thorough
@pytest.mark.parametrize("number", ["05", "08", "09", "13"])
def test_cells_are_skipped_without_their_packages(number: str, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    for part in ("notebooks", "assets/benchmarks"):
        shutil.copytree(FOLDER.parent / part, tmp_path / part)
    (path,) = FOLDER.glob(f"{number}*")
    notebook = read(path)
    blocked = "import sys\nsys.modules |= {'torch': None, 'ray': None}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(blocked))
    folder = {"metadata": {"path": str(tmp_path / "notebooks")}}
    NotebookClient(notebook, timeout=300, resources=folder).execute()
    cells = [cell for cell in notebook.cells if cell.source.startswith("%%needs")]
    assert len(cells) >= 2
    for cell in cells:
        (output,) = cell.outputs
        assert output.text.startswith("Skipped: this cell needs torch")
