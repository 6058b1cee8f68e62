"""Padding is told from samples."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.helpers import with_settings
from tests.sources.test_video import GOLDEN, a_graph
from tests.thorough import one_in
from workbench.bench.experiments.stages import CachedBatchJob
from workbench.bench.measuring.workload import ScriptJob, real_samples
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.errors import DataError, EngineError
from workbench.graph import load_recipe
from workbench.sources import open_datasets
from workbench.sources.kinds import video


def meta(size: int, shards: int = 1, shard: int = 0, pad: bool = True, stick: bool = False):
    padded = -(-size // shards) * shards
    return {
        "epoch_size": size,
        "epoch_size_padded": padded,
        "number_of_shards": shards,
        "shard_id": shard,
        "pad_last_batch": pad,
        "stick_to_shard": stick,
    }


def test_without_padding_every_sample_is_real() -> None:
    assert list(islice(real_samples([meta(10, pad=False)], 4), 5)) == [4] * 5
    assert list(islice(real_samples([], 4), 2)) == [4, 4]


def test_the_last_batch_of_an_epoch_is_cut() -> None:
    assert list(islice(real_samples([meta(10)], 4), 6)) == [4, 4, 2, 4, 4, 2]
    assert list(islice(real_samples([meta(3)], 4), 2)) == [3, 3]
    assert list(islice(real_samples([meta(8)], 4), 3)) == [4, 4, 4]


@pytest.mark.parametrize("stick", [True, False])
def test_shards_of_different_length(stick: bool) -> None:
    # 10 in 3 shards: 3, 3 and 4; each epoch has as many batches as the longest needs.
    found = list(islice(real_samples([meta(10, 3, 1, stick=stick)], 2), 6))
    assert found == ([2, 1, 2, 1, 2, 1] if stick else [2, 1, 2, 2, 2, 1])


def test_of_two_readers_the_shorter_counts() -> None:
    assert list(islice(real_samples([meta(10), meta(6)], 4), 3)) == [4, 2, 0]


@pytest.mark.parametrize("pipelines", one_in(2, [2, 3]))
def test_of_several_pipelines_an_epoch_has_every_sample_once(photos: Path, pipelines: int) -> None:
    """120 photos in shards of 60 or 40, in batches of 7: the last ones are cut."""
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=7, pipelines=pipelines)
    source, data = emit_script(graph, load_catalog()), open_datasets(photos)
    workload = ScriptJob(source, data, "cpu", 2).start()
    assert workload.lead == 4 * pipelines
    batches = pipelines * -(-120 // pipelines // 7)
    for _ in range(2):
        assert sum(workload.run() for _ in range(batches)) == 120


def test_a_side_that_does_not_decode_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a GPU: H.264 is measured there, and the CPU's row says why it is not."""
    monkeypatch.setattr(video, "has_gpu", lambda: True)
    clip = Path(GOLDEN, "h264.mp4")
    job = ScriptJob(emit_script(a_graph()), open_datasets(clip), "cpu", 2)
    with pytest.raises(EngineError, match=r"Decode on the GPU \(mixed\)"):
        job.start()
    clip = clip.with_name("no.mp4")
    with pytest.raises(DataError, match="There is no video"):
        ScriptJob(job.source, open_datasets(clip), "cpu", 2).start()


def test_what_lies_behind_the_decoders_runs_in_as_many_pipelines(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=4, pipelines=2)
    workload = CachedBatchJob(graph, open_datasets(photos)).start()
    assert [workload.run() for _ in range(workload.lead)] == [4] * 8
