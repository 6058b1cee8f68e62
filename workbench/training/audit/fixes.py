"""Look up the code change that fixes a finding, for each kind of loader."""

from __future__ import annotations


def fix_text(problem: str, kinds: tuple[str, ...]) -> str:
    """Return a sentence with the code to change, for the first of ``kinds`` that has a fix.

    ``problem`` is the kind of a finding, or the kind and a case: ``repeated, workers``.
    """
    fixes = _FIXES[problem]
    return next(fixes[kind] for kind in kinds if kind in fixes)


_FIXES: dict[str, dict[str, str]] = {
    "overlapping_shards": {
        "torch stream": "Give each rank its own samples in __iter__ of the dataset: "
        "islice(samples, rank, None, ranks).",
        "torch": "Pass sampler=DistributedSampler(dataset, ranks, rank) to the DataLoader.",
        "dali": "Pass shard_id=rank, num_shards=ranks to the reader.",
        "workbench": "Pass shard_id=rank, num_shards=ranks to wb.loader.",
        "tf": "Call dataset.shard(ranks, rank) before shuffle and batch.",
        "any": "Give each rank its own samples, for example samples[rank::ranks].",
    },
    "overlapping_shards, edge": {
        "dali": "Pass pad_last_batch=True to the reader: otherwise the last batch of a shard "
        "contains samples of the next one.",
        "workbench": "Pass pad_last_batch=True to wb.read: otherwise the last batch of a shard "
        "contains samples of the next one.",
        "any": "Check the first and last sample of each shard.",
    },
    "repeated": {
        "torch": "Check the sampler: its indices must be distinct.",
        "dali": "Check that the reader's list of files contains each file once.",
        "any": "Check the list of samples: it must contain each sample once.",
    },
    "repeated, workers": {
        "torch workers": "Divide the samples between the workers in __iter__ of the dataset: "
        "islice(samples, info.id, None, info.num_workers) with info = get_worker_info().",
        "torch": "Check the sampler: its indices must be distinct.",
        "dali": "Check that the reader's list of files contains each file once.",
        "any": "If several workers read the samples, divide the samples between them.",
    },
    "padded_last_batch": {
        "dali": "For evaluation, pass last_batch_policy=LastBatchPolicy.PARTIAL to the iterator.",
        "workbench": "For evaluation, skip the samples that are marked as padding by "
        "loader.batches.valid, or use library='torch', whose last batch is shorter.",
        "any": "For evaluation, remove the repeated samples from the metric, or return a smaller "
        "last batch.",
    },
    "dropped_remainder": {
        "torch": "For evaluation, and without shuffling, pass drop_last=False to the DataLoader "
        "and its sampler.",
        "dali": "For evaluation, and without shuffling, pass "
        "last_batch_policy=LastBatchPolicy.PARTIAL to the iterator.",
        "tf": "For evaluation, and without shuffling, call batch(size, drop_remainder=False).",
        "any": "For evaluation, and without shuffling, return the last, smaller batch too.",
    },
    "never_seen": {
        "torch": "Check the dataset's list of samples, and the length of the sampler.",
        "dali": "Check the reader's list of files, and num_shards.",
        "any": "Check the list of samples, and the number of shards.",
    },
    "missed": {
        "torch": "Check that the sampler returns all indices, and that no rank stops early.",
        "dali": "Pass pad_last_batch=True to the reader: otherwise the last batch of a shard "
        "contains samples of the next one, and samples are missed.",
        "any": "Check where the epoch ends, and that each rank reads its whole shard.",
    },
    "with_replacement": {
        "torch": "If this is not intended, pass shuffle=True to the DataLoader instead of a "
        "sampler that samples with replacement.",
        "workbench": "If this is not intended, pass sampler='random' to wb.read.",
        "any": "If this is not intended, shuffle the list of samples instead of sampling from it.",
    },
    "no_shuffle": {
        "torch stream": "For training, shuffle in __iter__ of the dataset, with a seed that "
        "depends on the epoch.",
        "torch distributed": "For training, call loader.sampler.set_epoch(epoch) before each "
        "epoch. If your loop does, pass before_epoch=lambda loader, epoch: "
        "loader.sampler.set_epoch(epoch) to wb.audit.",
        "torch": "For training, pass shuffle=True to the DataLoader, or to its DistributedSampler.",
        "dali": "For training, pass random_shuffle=True to the reader.",
        "workbench": "For training, pass random_shuffle=True to wb.read.",
        "tf": "For training, call dataset.shuffle(buffer_size, reshuffle_each_iteration=True).",
        "any": "For training, shuffle the samples before each epoch.",
    },
    "weak_shuffle": {
        "torch stream": "Use a larger shuffle buffer in the dataset, or shuffle its list of files.",
        "torch": "Use a sampler that shuffles all indices, as shuffle=True does.",
        "dali": "Pass a larger initial_fill, or shuffle_after_epoch=True instead of "
        "random_shuffle=True, to the reader.",
        "workbench": "Pass a larger initial_fill to wb.read.",
        "tf": "Pass a larger buffer_size to dataset.shuffle.",
        "any": "Use a larger shuffle buffer, or shuffle the list of samples.",
    },
    "shards_never_rotate": {
        "torch": "Use a DistributedSampler, and call loader.sampler.set_epoch(epoch) before each "
        "epoch.",
        "dali": "Pass stick_to_shard=False to the reader, or shuffle_after_epoch=True instead of "
        "random_shuffle=True.",
        "workbench": "Pass stick_to_shard=False to wb.read.",
        "any": "Shuffle all samples with a seed that depends on the epoch, and then divide them "
        "into shards.",
    },
    "wrong_length": {
        "torch": "Correct __len__ of the dataset or sampler: it must return the number of samples "
        "of one rank.",
        "dali": "Pass reader_name= to the iterator, which then computes its length.",
        "any": "Return the number of batches of one rank in __len__: -(-samples // batch_size), or "
        "samples // batch_size if the remainder is dropped.",
    },
    "wrong_length, endless": {
        "torch": "End __iter__ of the dataset or sampler after as many samples as __len__ returns.",
        "dali": "Pass reader_name= to the iterator, which then ends each epoch.",
        "workbench": "Pass epochs=1 to wb.loader: with epochs=None a loop does not end.",
        "any": "End the iteration after len(loader) batches.",
    },
    "uneven_ranks": {
        "torch": "Use a DistributedSampler, which pads the shards to the same size, or train with "
        "join().",
        "dali": "Pass pad_last_batch=True to the reader.",
        "workbench": "Pass pad_last_batch=True to wb.read.",
        "any": "Pad the shards to the same size, or drop their remainder.",
    },
    "empty_epoch": {
        "torch": "The dataset is probably empty, or smaller than a batch with drop_last=True. "
        "Print len(loader.dataset), and check its path.",
        "dali": "The reader probably has fewer samples than a batch, and the last batch is "
        "dropped. Print pipeline.reader_meta(), or pass "
        "last_batch_policy=LastBatchPolicy.PARTIAL to the iterator.",
        "any": "The list of samples is probably empty, or smaller than a batch that is dropped. "
        "Print its length, and check the path.",
    },
    "empty_epoch, once": {
        "torch": "Create the iterator of the samples in __iter__ of the dataset or sampler, not in "
        "__init__.",
        "dali": "Pass auto_reset=True to the iterator.",
        "any": "Return an object whose __iter__ starts a new epoch, not a generator.",
    },
    "empty_batch": {
        "torch": "Skip empty lists of indices in the batch sampler.",
        "any": "Skip empty batches, or move a sample of the previous batch there.",
    },
    "changing_batches": {
        "torch": "Return the same fields for every sample in __getitem__ of the dataset and in "
        "collate_fn.",
        "any": "Return the same fields in every batch.",
    },
    "left_early": {
        "any": "Start a new epoch in __iter__, or continue with the batch after the last one "
        "returned.",
    },
    "resume_restarts": {
        "dali": "Build the pipeline with enable_checkpointing=True, and pass the saved checkpoint "
        "to the new one: checkpoint=pipeline.checkpoint().",
        "any": "Store the number of delivered samples and the seed of the order in the state.",
    },
    "resume_differs": {
        "any": "Store the number of delivered samples and the seed of the order in the state.",
    },
    "resume_differs, raised": {"any": "Correct load_state_dict."},
    "resume_differs, values": {
        "any": "Store the state of the random number generators, or derive seeds from the number "
        "of the step.",
    },
    "repeated_across_epochs": {
        "torch workers": "Seed in worker_init_fn with get_worker_info().seed % 2**32, which "
        "differs between epochs, or pass persistent_workers=True to the DataLoader.",
        "dali": "Do not build the pipeline again with the same seed= in each epoch.",
        "tf": "Pass a seed that depends on the epoch to the operations tf.random.stateless_*.",
        "any": "Seed once before the first epoch, or with the epoch: "
        "np.random.default_rng((seed, epoch)).",
    },
    "repeated_across_ranks": {
        "dali": "Add the rank to the seed of the pipeline: seed=seed + rank.",
        "workbench": "Add the rank to the seed: wb.loader(..., seed=seed + rank).",
        "torch": "Add the rank to all seeds: torch.manual_seed(seed + rank), "
        "np.random.seed(seed + rank).",
        "any": "Add the rank to the seed: seed + rank.",
    },
    "repeated_across_workers": {
        "torch workers": "Seed each worker differently in worker_init_fn, with "
        "seed = get_worker_info().seed % 2**32: np.random.seed(seed), default_rng(seed), or "
        "set_random_seed(seed) of an albumentations.Compose.",
        "dali": "If Python code samples them for an external_source, use a seed for each sample: "
        "np.random.default_rng((seed, info.epoch_idx, info.idx_in_epoch)).",
        "any": "Seed each worker differently, and do not seed again before each batch.",
    },
    "repeated_across_samples": {
        "torch": "Sample the random values in __getitem__ of the dataset, not once per batch in "
        "collate_fn.",
        "dali": "Use operators fn.random.*, whose values differ between samples, instead of "
        "Python's random values.",
        "any": "Sample the random values for each image, not once per batch.",
    },
    "equal_views": {
        "dali": "Call the random operators once for each view, with different seeds if you pass "
        "seed=.",
        "any": "Sample random values for each view; do not copy the generator or its seed.",
    },
    "no_random_values": {
        "torch": "Check that the dataset applies the random transforms, and their probabilities p.",
        "dali": "Check that arguments are outputs of fn.random.*: Python's random values are "
        "constants of the pipeline.",
        "any": "Check that the random transforms are applied, and their probabilities.",
    },
    "not_reproducible": {
        "torch": "If runs should be reproducible, pass "
        "generator=torch.Generator().manual_seed(seed) to the DataLoader or its sampler.",
        "dali": "If runs should be reproducible, pass seed= to the pipeline.",
        "workbench": "If runs should be reproducible, pass seed= to wb.loader.",
        "tf": "If runs should be reproducible, pass seed= to dataset.shuffle.",
        "any": "If runs should be reproducible, pass a seed to the code that shuffles.",
    },
    "not_reproducible, values": {
        "torch workers": "If runs should be reproducible, seed the augmentation in worker_init_fn "
        "with get_worker_info().seed % 2**32.",
        "dali": "If runs should be reproducible, pass seed= to the pipeline.",
        "workbench": "If runs should be reproducible, pass seed= to wb.loader.",
        "any": "If runs should be reproducible, pass a seed to the random number generator of the "
        "augmentation.",
    },
}
"""Sentences with the code to change, by problem and by kind of loader."""
