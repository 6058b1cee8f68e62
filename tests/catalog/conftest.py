"""Real photos through one operator of real DALI."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.catalog import Catalog, OpSpec, Value, load_catalog

Batch = list[NDArray[np.generic]]
Run = Callable[[OpSpec, dict[str, Value]], tuple[Batch, Batch]]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def run_on_photos() -> Run:
    """Run one operator with given arguments: the decoded photos and what it made of them."""
    return _run


def start_values(op: OpSpec) -> dict[str, Value]:
    return {arg.name: arg.start for arg in op.args.values() if arg.start is not None}


@cache
def _photos() -> tuple[NDArray[np.uint8], ...]:
    """Three JPEGs of different size and shape, both orientations."""
    import skimage.data
    from PIL import Image

    images = [skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee()[:, 100:400]]
    files = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=92)
        files.append(np.frombuffer(file.getvalue(), np.uint8))
    return tuple(files)


def _run(op: OpSpec, args: dict[str, Value]) -> tuple[Batch, Batch]:
    from nvidia.dali import fn, types
    from nvidia.dali.pipeline import Pipeline

    files = list(_photos())
    function = fn
    for part in op.name.split("."):
        function = getattr(function, part)

    def member(name: str, value: Value) -> object:
        return getattr(types, str(value)) if op.args[name].kind == "enum" else value

    values = {name: member(name, value) for name, value in args.items()}
    if op.seeded:
        values["seed"] = 7
    pipeline = Pipeline(len(files), 1, None)
    with pipeline:
        encoded = fn.external_source(source=lambda: files, no_copy=False)
        decoded = fn.decoders.image(encoded)
        takes_encoded = bool(op.inputs) and op.inputs[0].kind == "encoded"
        made = function(encoded if takes_encoded else decoded, **values)
        pipeline.set_outputs(decoded, made)
    pipeline.build()
    before, after = pipeline.run()
    return _arrays(before), _arrays(after)


def _arrays(batch: object) -> Batch:
    return [np.array(batch[index]) for index in range(len(batch))]  # type: ignore[index,arg-type]
