"""The files that end a script are named, as the preview has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, with_settings
from workbench.engine import Engine
from workbench.engine.undecodable_samples import Sample
from workbench.errors import DataError
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.skipped_files import describe_skipped
from workbench.preview.verify import Verifier


@pytest.mark.parametrize("kind", ["text.jpg", "empty.jpg", "gif.jpg"])
def test_the_files_that_end_a_script_are_named(
    kind: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """DALI refuses some of them, and ends the process at others."""
    bad, _ = make_folder(photos, tmp_path, [kind, kind])
    graph = with_settings(chain_graph("resize"), batch_size=2)
    report = Verifier(graph, str(bad), 1, engine=engine).run()
    assert not report.exact
    assert report.failure.startswith("The exported script ")
    for number in (0, 1):  # the script reads ahead
        assert f"class/0{number}_{kind} ({REFUSED[kind][1]}" in report.failure
    assert report.failure.endswith("Remove or replace what is named.")
    assert report.lines()[-1] == "identical: 0 of 2"


def test_many_bad_files() -> None:
    words = describe_skipped([Sample(f"{n}.jpg", "the file is empty") for n in range(8)])
    assert "4.jpg (the file is empty), and 3 more. Remove" in words
    assert "5.jpg" not in words


def test_an_empty_file_that_a_shuffling_reader_meets_early(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["half.jpg"] * 5 + ["empty.jpg"])
    graph = chain_graph("resize", reader={"random_shuffle": True})
    graph = with_settings(graph, batch_size=1, prefetch_queue_depth=1)
    assert (
        "05_empty.jpg (the file is empty)"
        in Verifier(graph, str(bad), 1, engine=engine).run().failure
    )


def test_an_empty_folder_is_told_as_in_the_preview(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(DataError) as told:
        Verifier(chain_graph("resize"), str(tmp_path), 1, engine=engine).run()
    with pytest.raises(DataError) as shown:
        preview_batch(engine, PreviewRequest(chain_graph("resize"), str(tmp_path)))
    assert str(told.value) == str(shown.value)
