"""Exported data sets are run as their users would: ``python -m tests....run_loaders FOLDER DATA``.

Prints for each module in the folder what its first batch holds, as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.emit.interop.libraries import missing


def first_batches(folder: Path, data: str) -> dict[str, Any]:
    """Of each module types and shapes of its first batch, and whether that is repeatable."""
    import torch

    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # workers look for it there
        spec.loader.exec_module(module)
        batches = [
            next(iter(module.make_loader(data, batch_size=4, num_workers=1))) for _ in range(2)
        ]
        found[path.stem] = {
            "outputs": [[str(each.dtype), list(each.shape)] for each in batches[0]],
            "repeats": all(map(torch.equal, *batches)),
        }
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library, folder, data = sys.argv[1:]
    reason = missing(library)
    print(json.dumps({"missing": reason} if reason else first_batches(Path(folder), data)))
