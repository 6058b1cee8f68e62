"""What the report, the canvas and the exported program say of what an import lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.emit.pipeline_import.report import ImportIssue, ImportReport, with_remark
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
    assert made.read_text().startswith('"""Imported partly: 1 left out.\n')
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


# The report says what came across and what did not, in few lines.


def test_lines() -> None:
    report = ImportReport(
        exact=("reader",),
        entries=(
            ImportIssue("refused", "", "", "batch_size: too large"),
            *(
                ImportIssue("opaque", f"split_{n}", "t.py:3", "fn.split: no conditions")
                for n in range(5)
            ),
            ImportIssue("opaque", "other", "t.py:4", "fn.split: no conditions"),
            ImportIssue("changed", "angle", "", "it had no seed"),
        ),
        faults=(ImportIssue("fault", "rotate", "t.py:9", "angle: needs it"),),
        notes=("name the folder",),
    )
    assert str(report).splitlines() == [
        "partly: 8 nodes: 1 exact, 1 changed, 6 opaque, 1 left out",
        "refused  batch_size: too large",
        "opaque   split_0, split_1, split_2 and 2 more (t.py:3): fn.split: no conditions",
        "opaque   other (t.py:4): fn.split: no conditions",
        "changed  angle: it had no seed",
        "fault    rotate (t.py:9): angle: needs it",
        "note     name the folder",
    ]
    assert not report.is_exact
    assert [entry.node for entry in report.changed] == ["angle"]
    assert len(report.opaque) == 6
    assert len(report.refused) == 1


def test_what_was_assumed_is_named_with_how_to_give_another() -> None:
    values = {"crop": "224", "mean": "[0.5, 0.5, 0.5]"}
    report = ImportReport(exact=("reader",), assumed=values, notes=("name the folder",))
    assert str(report).splitlines()[1:] == [
        "assumed  crop=224, mean=[0.5, 0.5, 0.5]",
        "         give others by --arg crop=... --arg mean=...",
        "note     name the folder",
    ]
    assert not report.is_exact
    assert report.headline == "partly: 1 node: 1 exact, 0 changed, 0 opaque, 2 assumed"
    assert list(report.to_frame().why) == ["crop=224", "mean=[0.5, 0.5, 0.5]"]
    many = {f"a{n}": str(n) for n in range(8)}
    lines = str(ImportReport(assumed=many)).splitlines()[1:]
    assert lines == [
        "assumed  a0=0, a1=1, a2=2, a3=3, a4=4, a5=5",
        "assumed  a6=6, a7=7",
        "         give others by --arg a0=... --arg a1=... --arg a2=... and so on",
    ]


def test_all_of_it() -> None:
    report = ImportReport(exact=("reader",))
    assert report.is_exact
    assert str(report) == "1 node: 1 exact, 0 changed, 0 opaque"
