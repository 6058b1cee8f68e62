from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb

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


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("--nothing", "x = 1", "unrecognized arguments: --nothing"),
        ("'a", "x = 1", "No closing quotation"),
        (".", "x = 1", "pipeline"),
        (".", "def", "invalid syntax"),
        (". --name 1", "x = 1", "--name '1' is no Python name"),
    ],
)
def test_what_cannot_be_is_told_without_a_traceback(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, cell: str, words: str
) -> None:
    shell.run_cell_magic("dali", line, cell)
    told = capsys.readouterr()
    assert words in told.err
    assert "Traceback" not in told.err + told.out
