"""A comparison goes on without the files that would end the script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, with_settings
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verification.verify import Verifier


@pytest.mark.parametrize("kind", ["text.jpg", "empty.jpg"])
def test_bad_files_are_left_out_and_named(
    kind: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    bad, _ = make_folder(photos, tmp_path, [kind, kind])
    graph = with_settings(chain_graph("resize", reader={"random_shuffle": True}), batch_size=2)
    report = Verifier(graph, str(bad), 2, engine=engine).run()
    assert report.exact
    assert [one.file for one in report.left_out] == [f"class/0{n}_{kind}" for n in (0, 1)]
    assert all(REFUSED[kind][1] in one.reason for one in report.left_out)
    left_out, last = report.lines()
    assert left_out.startswith("2 bad files left out: class/00")
    assert last == "identical: 4 of 4"


def test_an_empty_folder_is_told_as_in_the_preview(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(DataError) as told:
        Verifier(chain_graph("resize"), str(tmp_path), 1, engine=engine).run()
    with pytest.raises(DataError) as shown:
        preview_batch(engine, PreviewRequest(chain_graph("resize"), str(tmp_path)))
    assert str(told.value) == str(shown.value)
