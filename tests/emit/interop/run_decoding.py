"""Run an exported data set: ``python -m tests....run_decoding MODULE.py DATA OUT.npz``.

Writes the first view of each photo, and for each way to iterate which photos are mirrored, an array
of shape (epochs, views, photos).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import numpy as np

from tests.emit.interop.libraries import missing


def load(path: str, rank: int) -> Any:
    os.environ["RANK"] = str(rank)
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["exported"] = module
    spec.loader.exec_module(module)
    return module


def main(path: str, data: str, out: str) -> None:
    def epoch(loader: Any) -> list[Any]:
        batches = [
            [np.asarray(each) for each in batch[:2]] for batch in loader
        ]  # two views of each photo
        views = [np.concatenate(each) for each in zip(*batches, strict=True)]
        return [v if v.shape[-1] == 3 else v.transpose(0, 2, 3, 1) for v in views]

    def mirrored(rank: int, workers: int) -> Any:
        module = load(path, rank)
        loader = module.make_loader(data, batch_size=8, num_workers=workers)
        epochs = [epoch(loader) for _ in range(2)]
        first.append(epochs[0][0])
        return [[v[:, :, 0, 0].mean(1) > v[:, :, -1, 0].mean(1) for v in e] for e in epochs]

    first: list[Any] = []
    found = {
        f"rank_{rank}_workers_{workers}_run_{run}": np.array(mirrored(rank, workers))
        for rank, workers, run in ((0, 0, 0), (0, 0, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0), (1, 2, 0))
    }
    np.savez(out, photos=first[0], **found)


if __name__ == "__main__":
    reason = missing(sys.argv[1])
    if reason:
        sys.exit(f"missing: {reason}")
    main(*sys.argv[2:])
