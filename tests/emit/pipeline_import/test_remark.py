"""What an import lost is seen on the canvas and in the exported program."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.emit.pipeline_import.remark import with_remark
from workbench.emit.pipeline_import.report import ImportIssue, ImportReport
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph import load_recipe
from workbench.graph.storage.layout import Document, dump_document, load_document

COMPOSITION = """\
from torchvision import transforms as T
train = T.Compose([
    T.Resize((32, 32)),
    T.RandomPerspective(),
])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "compose.py"
    path.write_text(COMPOSITION)
    return path


def test_what_was_left_out_is_a_note_above_the_first_node(script: Path) -> None:
    document = load_document(dump_document(from_file(script).document))
    (note,) = document.layout.notes.values()
    first, second = note.text.split("\n")
    assert first == "Imported partly: 1 left out."
    assert second.startswith("RandomPerspective (compose.py:4): left out: DALI draws")
    assert note.node == document.graph.sources[0].id
    assert note.at[1] < 0
    assert document.layout.renamed(note.node, "other").notes["note"].node == "other"


def test_the_exported_program_says_so_and_an_import_of_it_does_not_repeat_it(
    script: Path, tmp_path: Path
) -> None:
    made = tmp_path / "pipe.py"
    made.write_text(export(from_file(script).graph).main.text)
    assert made.read_text().startswith('"""train: Imported partly: 1 left out.\n')
    again = from_file(made, args={"data": "photos"})
    assert again.graph.about == "Imported partly: 1 left out."


def test_a_long_list_is_cut_and_an_exact_import_has_no_note() -> None:
    document = Document(load_recipe("rotate-jitter"))
    assert with_remark(document, ImportReport()) is document
    issues = tuple(ImportIssue("changed", "rotate", "", f"{n} {'why ' * 40}") for n in range(20))
    found = with_remark(document, ImportReport(entries=issues))
    (note,) = found.layout.notes.values()
    lines = note.text.split("\n")
    assert (lines[0], lines[-1], len(lines)) == (
        "Imported partly: 20 changed.",
        "and 14 more",
        8,
    )
    assert max(map(len, lines)) <= 76
    about = document.graph.about
    assert found.graph.about == f"{about} Imported partly: 20 changed."
    fewer = with_remark(found, ImportReport(entries=issues[:2]))
    assert fewer.graph.about == f"{about} Imported partly: 2 changed."
