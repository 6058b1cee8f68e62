"""The report says what came across and what did not, in few lines."""

from __future__ import annotations

from workbench.emit.pipeline_import.report import ImportIssue, ImportReport


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
