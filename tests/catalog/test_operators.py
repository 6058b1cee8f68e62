"""Real photos through every usable image operator of real DALI, as a new node would run it."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers import require_parity
from tests.placed import USABLE as PLACEABLE
from tests.placed import dali_function, placed
from tests.thorough import one_in
from workbench.catalog import ArgSpec, OpSpec, Value, load_catalog

Photos = list[NDArray[Any]]

USABLE = [
    op
    for op in load_catalog().values()
    # automatic augmentation wants conditionals: tests/engine/build/test_auto_augment.py
    if op.image and op.unusable is None and not op.module
]
ON_CPU = [op for op in USABLE if "cpu" in op.devices]
ON_GPU = [op for op in USABLE if "gpu" in op.devices]

CLASHES = {
    ("color_space_conversion", "image_type"),  # three channels in, none of them grey
    ("color_space_conversion", "output_type"),  # RGB to RGB
    ("crop_mirror_normalize", "output_layout"),  # of a photo or of frames
    ("resize_crop_mirror", "mode"),  # not together with resize_shorter
}
"""Arguments whose choices depend on another argument or on the photo."""

ELEMENTS = (
    *("UINT8", "INT8", "UINT16", "INT16", "INT32", "UINT32", "INT64"),
    *("FLOAT16", "FLOAT", "FLOAT64", "BOOL"),
)


def start_values(op: OpSpec) -> dict[str, Value]:
    return {arg.name: arg.start for arg in op.args.values() if arg.start is not None}


@cache
def jpegs() -> list[NDArray[np.uint8]]:
    """Three photos of different size, both orientations."""
    import skimage.data
    from PIL import Image

    images = [skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee()[:, 100:400]]
    files = [io.BytesIO() for _ in images]
    for image, file in zip(images, files, strict=True):
        Image.fromarray(image).save(file, "JPEG", quality=92)
    return [np.frombuffer(file.getvalue(), np.uint8) for file in files]


def run(
    op: OpSpec,
    args: dict[str, Value],
    draw: ArgSpec | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
    dtype: str = "UINT8",
) -> tuple[Photos, Photos]:
    """Run the photos through one operator: as decoded, and what it made of them."""
    from nvidia.dali import fn, types
    from nvidia.dali.pipeline import Pipeline

    function = dali_function(op)
    values: dict[str, Any] = {
        name: getattr(types, str(value)) if op.args[name].enum else value
        for name, value in args.items()
    }
    if op.seeded:
        values["seed"] = 7
    pipeline = Pipeline(len(jpegs()), 1, 0 if device == "gpu" else None)
    with pipeline:
        if draw is not None:
            values[draw.name] = generator(draw)
        encoded = fn.external_source(source=lambda: jpegs(), no_copy=False)
        photos = fn.decoders.image(encoded, device="mixed" if device == "gpu" else "cpu")
        if dtype != "UINT8":
            photos = fn.cast(photos, dtype=getattr(types, dtype))
        pipeline.set_outputs(photos, function(photos, **values))
    pipeline.build()
    before, after = (output.as_cpu() for output in pipeline.run())
    return [np.array(x) for x in before], [np.array(x) for x in after]


def generator(arg: ArgSpec) -> Any:
    """A generator as ``arg`` takes it: integers for integers, as many as the start value has."""
    from nvidia.dali import fn, types

    whole = arg.kind.removesuffix("_list") == "int"
    shape = {"shape": [len(arg.start)]} if isinstance(arg.start, tuple) else {}
    dtype = types.INT32 if whole else types.FLOAT
    return fn.random.uniform(range=list(arg.draw or ()), dtype=dtype, seed=7, **shape)


def check_images(op: OpSpec, before: Photos, after: Photos) -> None:
    assert len(after) == len(before)
    for image in after:
        assert image.ndim == 3
        assert image.size > 0
        assert 3 in image.shape or 1 in image.shape
        assert image.dtype in (np.uint8, np.float32, np.uint64)
        assert np.isfinite(image.astype(np.float64)).all()
        assert image.std() > 1e-3, "one flat colour"
    pairs = zip(before, after, strict=True)
    changed = [x.shape != y.shape or bool(np.any(x != y)) for x, y in pairs]
    assert any(changed) == op.alters


@pytest.mark.parametrize("op", one_in(2, ON_CPU), ids=lambda op: op.name)
def test_start_values_do_something_sensible_to_photos(op: OpSpec) -> None:
    check_images(op, *run(op, start_values(op)))


@pytest.mark.gpu
@pytest.mark.parametrize("op", ON_GPU, ids=lambda op: op.name)
def test_start_values_do_something_sensible_to_photos_on_the_gpu(op: OpSpec) -> None:
    check_images(op, *run(op, start_values(op), device="gpu"))


@pytest.mark.parametrize("op", one_in(5, ON_CPU), ids=lambda op: op.name)
def test_dali_takes_every_choice(op: OpSpec) -> None:
    for arg in op.args.values():
        for choice in () if (op.name, arg.name) in CLASHES or arg.deprecated else arg.choices:
            run(op, {**start_values(op), arg.name: choice})


@pytest.mark.parametrize("op", one_in(5, ON_CPU), ids=lambda op: op.name)
def test_dali_takes_every_draw(op: OpSpec) -> None:
    for arg in op.args.values():
        if arg.draw is None:
            continue
        given = start_values(op).items()
        left_out = {arg.name, *op.conflicts_with(arg.name)}
        args = {name: value for name, value in given if name not in left_out}
        run(op, args, draw=arg)


@pytest.mark.parametrize("op", one_in(5, ON_CPU), ids=lambda op: op.name)
def test_dali_takes_both_ends_of_the_sliders_that_start_open(op: OpSpec) -> None:
    for arg in op.args.values():
        if arg.advanced or arg.start is None or op.name == "transpose" or arg.name == "matrix":
            continue
        for end in (arg.low, arg.high):
            if end is not None:
                number: Value = int(end) if arg.kind.startswith("int") else end
                many = (number,) * len(arg.start) if isinstance(arg.start, tuple) else number
                run(op, {**start_values(op), arg.name: many})


@pytest.mark.parametrize(
    "op", one_in(8, (op for op in ON_CPU if op.inputs[0].dtypes)), ids=lambda op: op.name
)
def test_dali_takes_the_element_types_that_the_catalogue_says_and_no_others(op: OpSpec) -> None:
    args = {name: value for name, value in start_values(op).items() if name != "dtype"}
    for dtype in ELEMENTS:
        if dtype in op.inputs[0].dtypes:
            run(op, args, dtype=dtype)
        else:
            with pytest.raises((RuntimeError, ValueError)):
                run(op, args, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("resize", {"size": (224, 224), "resize_shorter": 256}),
        ("resize", {"resize_x": 200, "resize_longer": 256}),
        ("resize", {"mode": "stretch", "resize_shorter": 256}),
        ("crop", {"crop": (224, 224), "crop_h": 100}),
        ("slice", {"rel_start": (0.1, 0.1), "start": (10, 10), "rel_shape": (0.5, 0.5)}),
        ("slice", {"rel_start": (0.1, 0.1), "shape": (10, 10), "rel_shape": (0.5, 0.5)}),
        ("erase", {"normalized": True, "normalized_shape": True, "anchor": 0.1, "shape": 0.1}),
        ("pad", {"axes": (0, 1), "axis_names": "HW"}),
        ("tensor_resize", {"sizes": (99, 99, 3), "scales": (0.5, 0.5, 1)}),
        ("reshape", {"shape": (-1, 1, 1), "rel_shape": (1, 1, 1)}),
        ("laplacian", {"scale": 0.5, "normalized_kernel": True}),
    ],
)
def test_dali_refuses_what_excludes_each_other(name: str, args: dict[str, Value]) -> None:
    op = load_catalog()[name]
    assert any(op.conflicts_with(arg) & set(args) for arg in args)
    with pytest.raises(RuntimeError):
        run(op, args)


@pytest.mark.parametrize(
    "op", one_in(12, (op for op in PLACEABLE if "cpu" in op.devices)), ids=lambda op: op.name
)
def test_the_preview_runs_what_the_script_runs(op: OpSpec, photos: Path, tmp_path: Path) -> None:
    """Every usable operator, fed as the catalogue says, in the first batch and in a later one."""
    graph, _ = placed(op, batch_size=4, num_threads=2)
    require_parity(graph, photos, tmp_path, (0, 2), 3)
