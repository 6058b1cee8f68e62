"""Compute the order of samples in exported programs, and read files in this order.

DALI's readers cannot sample, so a reader with a sampler is replaced by ``fn.external_source``,
which outputs the paths of each batch, and ``fn.io.file.read``, which reads them in DALI's threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


class Sampler:
    """Sample indices of each batch. The batches can be computed in any order.

    An epoch is a random order of all samples (``random``), random samples with each class equally
    often (``balanced``), or the samples in order (``sequential``). ``weights`` has one weight per
    class, and ``sample_weights`` one per sample; their sum need not be 1. With weights, samples are
    drawn with ``replacement``. ``indices`` restricts the samples, each is output ``repeats`` times
    in sequence, and ``num_samples`` is the length of an epoch.

    All shards need the same seed: each computes the order of the epoch and reads its own part of
    it. Shards rotate by one per epoch, unless ``stick_to_shard`` is true.
    """

    def __init__(
        self,
        count: int,
        labels: Any = None,
        *,
        sampler: str = "random",
        weights: Any = None,
        sample_weights: Any = None,
        replacement: bool | None = None,
        indices: Any = None,
        repeats: int = 1,
        num_samples: int | None = None,
        seed: int = 0,
        shard_id: int = 0,
        num_shards: int = 1,
        pad_last_batch: bool = False,
        stick_to_shard: bool = False,
    ) -> None:
        from nvidia.dali.pipeline import Pipeline

        self.batch_size = Pipeline.current().max_batch_size
        self.repeats, self.seed = repeats, seed
        self.shard_id, self.num_shards = shard_id, num_shards
        self.pad_last_batch, self.stick_to_shard = pad_last_batch, stick_to_shard
        self.sequential = sampler == "sequential"
        self.indices = np.arange(count) if indices is None else np.asarray(indices, np.int64)
        if not len(self.indices):
            raise ValueError("indices is empty. Use at least one sample")
        outside = self.indices[(self.indices < 0) | (self.indices >= count)]
        if len(outside):
            raise ValueError(
                f"indices has {outside[0]}, but the {count:,} samples are numbered from 0"
            )
        self.weights = np.ones(len(self.indices))
        if (sampler == "balanced" or weights is not None) and labels is None:
            raise ValueError("the samples do not have one class each. Use sample_weights")
        if sampler == "balanced":
            own = np.asarray(labels)[self.indices]
            _, which, counts = np.unique(own, return_inverse=True, return_counts=True)
            self.weights /= counts[which]
        if weights is not None:
            if min(labels) < 0:
                raise ValueError(f"weights needs labels from 0, but one is {min(labels)}")
            own = np.asarray(labels)[self.indices]
            self.weights *= self._checked("weights", weights, int(max(labels)) + 1, "class")[own]
        if sample_weights is not None:
            given = self._checked("sample_weights", sample_weights, count, "sample")
            self.weights *= given[self.indices]
        if not self.weights.sum() > 0:
            raise ValueError("every sample has weight 0. Use a weight above 0")
        self.weights /= self.weights.sum()
        weighted = sampler == "balanced" or weights is not None or sample_weights is not None
        self.replacement = weighted if replacement is None else replacement
        drawn = len(self.indices) if self.replacement else np.count_nonzero(self.weights)
        if repeats > 1:
            drawn -= drawn % num_shards  # so that no sample is repeated in two shards
        self.size = int(drawn * repeats) if num_samples is None else num_samples
        if weighted and not self.replacement and self.size > drawn * repeats:
            raise ValueError(
                f"num_samples is {self.size:,}, but only {drawn:,} samples can be drawn "
                "without replacement. Use a smaller number, or replacement=True"
            )
        if self.size < num_shards:
            raise ValueError(f"an epoch has {self.size} samples, too few for {num_shards} shards")
        self.weighted = weighted
        self._orders: dict[int, Any] = {}

    @staticmethod
    def _checked(name: str, weights: Any, count: int, each: str) -> Any:
        """Return the weights as an array, or raise ValueError."""
        found = np.asarray(weights, float)
        if found.shape != (count,):
            raise ValueError(f"{name} has {found.size:,} values. Use {count:,}, one per {each}")
        wrong = found[~(np.isfinite(found) & (found >= 0))]
        if len(wrong):
            raise ValueError(f"{name} has {wrong[0]}. Use numbers from 0")
        return found

    def epoch(self, number: int) -> Any:
        """Return the sample indices of an epoch for all shards."""
        if number not in self._orders:
            rng = np.random.default_rng([self.seed, number])
            count, drawn = len(self.indices), -(-self.size // self.repeats)
            if self.sequential:
                places = (number * drawn + np.arange(drawn)) % count
            elif self.replacement:
                places = rng.choice(count, drawn, p=self.weights)
            elif self.weighted:  # the first of these times are those of a draw without replacement
                with np.errstate(divide="ignore"):
                    places = np.argsort(rng.exponential(size=count) / self.weights)[:drawn]
            else:
                orders = [rng.permutation(count) for _ in range(-(-drawn // count))]
                places = np.concatenate(orders)[:drawn]
            order = np.repeat(self.indices[places], self.repeats)[: self.size]
            self._orders = {**dict([*self._orders.items()][-1:]), number: order}
        return self._orders[number]

    def batch(self, number: int) -> Any:
        """Return the sample indices of a batch of this shard. Batches are counted from 0."""
        size, shards = self.size, self.num_shards
        at = number * self.batch_size + np.arange(self.batch_size)
        if self.pad_last_batch:  # each epoch starts with a new batch
            whole = -(-size // shards)
            epochs, at = np.divmod(at, -(-whole // self.batch_size) * self.batch_size)
            shard = (self.shard_id + (0 if self.stick_to_shard else epochs)) % shards
            first, last = size * shard // shards, size * (shard + 1) // shards - 1
            places = np.minimum(first + at, last)
        elif self.stick_to_shard:
            first, end = (size * (self.shard_id + step) // shards for step in (0, 1))
            epochs, at = np.divmod(at, end - first)
            places = first + at
        else:
            rounds, at = np.divmod(at, size)
            places = (size * self.shard_id // shards + at) % size
            shard = ((places + 1) * shards - 1) // size
            epochs = rounds * shards + (shard - self.shard_id) % shards
        found = [self.epoch(each)[places[epochs == each]] for each in np.unique(epochs)]
        return np.concatenate(found)  # epochs never decrease

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata as in ``Pipeline.reader_meta``."""
        return {
            "epoch_size": self.size,
            "epoch_size_padded": -(-self.size // self.num_shards) * self.num_shards,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad_last_batch),
            "stick_to_shard": int(self.stick_to_shard),
        }

    def output(self, values: Any, layout: str | None = None) -> Any:
        """Return a pipeline output with the result of ``values(indices)`` for each batch."""
        return fn.external_source(
            lambda batch: values(self.batch(batch.iteration)),
            batch=True,
            batch_info=True,
            layout=layout,
        )

    def name_files(self, name: str, files: list[str]) -> None:
        """Set the metadata of the reader ``name``, with a function that lists a batch's files."""
        from nvidia.dali.pipeline import Pipeline

        pipe: Any = Pipeline.current()
        others = pipe.reader_meta
        meta = {**self.meta, "files": lambda batch: [files[at] for at in self.batch(batch)]}

        def reader_meta(wanted: str | None = None) -> Any:
            if wanted is None:
                return {**others(), name: meta}
            return meta if wanted == name else others(wanted)

        pipe.reader_meta = reader_meta

    def read_files(self, files: list[str], root: str = "") -> Any:
        """Return a pipeline output with the contents of the files of each batch."""

        def paths(indices: Any) -> list[Any]:
            named = (os.path.join(root, files[at]) for at in indices)
            return [np.frombuffer(os.fsencode(path), np.uint8) for path in named]

        return fn.io.file.read(self.output(paths))


def read_sampled_files(
    name: str,
    file_root: str = "",
    files: Any = None,
    labels: Any = None,
    file_list: str = "",
    **options: Any,
) -> Any:
    """Return encoded images and labels of files, in the order of a sampler."""
    if file_list:
        with open(file_list, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        files, labels = [path for path, _ in rows], [int(label) for _, label in rows]
        file_root = file_root or os.path.dirname(os.path.abspath(file_list))
    sampler = Sampler(len(files), labels, **options)
    sampler.name_files(name, files)
    images = sampler.read_files(files, file_root)
    classes = np.asarray(labels, np.int32)[:, None]
    return images, sampler.output(lambda indices: classes[indices])
