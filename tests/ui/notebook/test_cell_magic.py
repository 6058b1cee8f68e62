from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from tests.sources.written_pixels import write_frames

CELL = """
from nvidia.dali import pipeline_def, fn

@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def pipe():
    jpegs, labels = fn.readers.file(file_root={root!r})
    return fn.rotate(fn.decoders.image(jpegs), angle=10), labels
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "workbench")
    yield made
    for value in made.user_ns.values():
        if isinstance(value, wb.Workbench):
            value.close()
    InteractiveShell.clear_instance()


def test_a_cell_becomes_a_graph_and_a_workbench(shell: Any, photos: Path) -> None:
    shell.run_cell_magic("dali", f"'{photos}' --name made", CELL.format(root=str(photos)))
    graph = shell.user_ns["made_graph"]
    assert [node.op for node in graph.nodes] == ["readers.file", "decoders.image", "rotate"]
    assert graph["rotate"].angle == 10
    assert isinstance(shell.user_ns["made"], wb.Workbench)


def test_without_data_it_reads_what_the_pipeline_names_and_says_so(
    shell: Any, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell_magic("dali", "", CELL.format(root=str(photos)))
    assert f"It reads {photos}, which the pipeline names: a folder of images." in (
        capsys.readouterr().out
    )
    assert shell.user_ns["w"]._model.data_panel.dataset.location == str(photos)


def test_frames_of_videos_are_told(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(write_frames(tmp_path / "frames"))
    shell.run_cell_magic("dali", place, CELL.format(root=place))
    assert "taken for that by its numbered files of one size" in capsys.readouterr().out


def test_a_pipeline_that_names_its_files_needs_no_data(
    shell: Any, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *_) = sorted(photos.rglob("*.jpg"))
    named = CELL.format(root="").replace("file_root=''", f"files=[{str(first)!r}]")
    shell.run_cell_magic("dali", "", named)
    assert "The pipeline names its files itself" in capsys.readouterr().out


NO_FOLDER = CELL.format(root="").replace("file_root=''", "file_root=root")
NO_FOLDER = NO_FOLDER.replace("def pipe(", "def pipe(root")


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("", CELL.format(root="/not/there"), "the pipeline names /not/there, which is not"),
        ("", NO_FOLDER, "no data is given, and the pipeline names root, which is not there"),
        ("--nothing", "x = 1", "unrecognized arguments: --nothing"),
        ("'a", "x = 1", "No closing quotation"),
        (".", "x = 1", "pipeline"),
        (".", "def", "invalid syntax"),
        (". --name 1", "x = 1", "--name '1' is no Python name"),
    ],
)
def test_what_cannot_be_is_an_error_of_a_few_lines(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, cell: str, words: str
) -> None:
    ran = shell.run_cell(f"%%dali {line}\n{cell}")
    assert isinstance(ran.error_in_exec, wb.WorkbenchError)
    assert words in str(ran.error_in_exec)
    told = capsys.readouterr()
    assert words in told.err + told.out
    assert len((told.err + told.out).splitlines()) <= 5


def test_a_failing_cell_leaves_no_earlier_graph(shell: Any, photos: Path) -> None:
    shell.run_cell_magic("dali", f"'{photos}'", CELL.format(root=str(photos)))
    earlier = shell.user_ns["w"]
    assert not shell.run_cell(f"%%dali '{photos}'\nx = 1").success
    assert not {"w", "w_graph"} & shell.user_ns.keys()
    earlier.close()
    shell.user_ns["w"] = 3  # not of the magic
    assert not shell.run_cell(f"%%dali '{photos}'\nx = 1").success
    assert shell.user_ns["w"] == 3


def test_mistakes_in_calls_are_short_and_verbose_shows_all(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["wb"] = wb
    for call in ("wb.check_graph('photos')", "wb.read('photos', nothing=1)", "wb.Workbench(3)"):
        assert not shell.run_cell(call).success
        told = capsys.readouterr()
        assert len((told.err + told.out).splitlines()) <= 5, told
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell("wb.check_graph('photos')")
    assert "Traceback" in capsys.readouterr().out
    shell.run_line_magic("xmode", "Context")
