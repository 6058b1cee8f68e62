"""What DALI's JAX plugin lacks, and the exported loader has therefore itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emit.targets.test_execute import require, seeing, some_of

_DECORATED = """\
import sys

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn
from nvidia.dali.plugin.jax import data_iterator

sharding = NamedSharding(Mesh(jax.devices(), ("batch",)), PartitionSpec("batch"))


def images(data, shard_id=0, num_shards=1):
    jpegs, labels = fn.readers.file(
        file_root=data,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        name="reader",
    )
    return fn.decoders.image(jpegs, device="cpu"), labels


def batches(device_id, **options):
    make = data_iterator(images, output_map=["images", "labels"], reader_name="reader", **options)
    return make(sys.argv[1], batch_size=1, **device_id)


print(sum(len(batch["labels"]) for batch in batches({"device_id": None})), "samples")
try:
    batches({}, sharding=sharding)
except RuntimeError as error:
    print(error)
"""


@pytest.mark.thorough
def test_the_decorator_shards_on_gpus_alone(photos: Path, tmp_path: Path) -> None:
    """Once this fails, the exported loader can be DALI's: see the target's docstring."""
    require("jax")
    (tmp_path / "decorated.py").write_text(_DECORATED)
    data = some_of(photos, 3, tmp_path / "photos")
    done = subprocess.run(
        [sys.executable, tmp_path / "decorated.py", data],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | seeing(""),
    )
    assert done.returncode == 0, done.stderr
    first, *refused = done.stdout.splitlines()
    assert first == "3 samples"
    assert "device_id" in " ".join(refused)
