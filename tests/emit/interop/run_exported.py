"""Exported data sets are run as their users would: ``python -m ... LIBRARY MODULES DATA [OUT]``.

Prints for each module in the folder ``MODULES`` what its first batch holds, as JSON. With ``OUT``
(.npz), ``MODULES`` is one file: writes the first view of each photo, and for each way to iterate
which photos are mirrored, an array of shape (epochs, views, photos).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.emit.interop.libraries import missing


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # workers look for it there
    spec.loader.exec_module(module)
    return module


def first_batches(folder: Path, data: str) -> dict[str, Any]:
    """Of each module types and shapes of its first batch, and whether that is repeatable."""
    import torch

    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.py")):
        module = load(path)
        batches = [
            next(iter(module.make_loader(data, batch_size=4, num_workers=1))) for _ in range(2)
        ]
        found[path.stem] = {
            "outputs": [[str(each.dtype), list(each.shape)] for each in batches[0]],
            "repeats": all(map(torch.equal, *batches)),
        }
    return found


def write_mirrored(path: Path, data: str, out: str) -> None:
    def epoch(loader: Any) -> list[Any]:
        batches = [
            [np.asarray(each) for each in batch[:2]] for batch in loader
        ]  # two views of each photo
        views = [np.concatenate(each) for each in zip(*batches, strict=True)]
        return [v if v.shape[-1] == 3 else v.transpose(0, 2, 3, 1) for v in views]

    def mirrored(rank: int, workers: int) -> Any:
        os.environ["RANK"] = str(rank)
        loader = load(path).make_loader(data, batch_size=8, num_workers=workers)
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
    warnings.simplefilter("ignore")
    library, modules, data, *out = sys.argv[1:]
    if reason := missing(library):
        print(json.dumps({"missing": reason}))
    elif out:
        write_mirrored(Path(modules), data, *out)
    else:
        print(json.dumps(first_batches(Path(modules), data)))
