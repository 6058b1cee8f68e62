"""Padding is told from samples."""

from __future__ import annotations

from itertools import islice

import pytest

from workbench.bench.workload import real_samples


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
