from __future__ import annotations

import pytest

from workbench.catalog import Catalog


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("readers.nemo_asr", "no module of workbench.sources reads with it"),
        ("experimental.readers.fits", "no module of workbench.sources reads with it"),
        ("readers.video", "video"),
        ("segmentation.select_masks", "COCO"),
        ("decoders.numpy", "NumPy"),
        ("debayer", "Bayer"),
        ("dl_tensor_python_function", "@workbench.node"),
    ],
)
def test_the_reason_says_what_is_lacking(catalog: Catalog, name: str, reason: str) -> None:
    assert reason in (catalog[name].unusable or "")


@pytest.mark.parametrize(
    "name",
    [
        *("readers.file", "decoders.image", "random.uniform", "random.coin_flip", "rotate"),
        *("jitter", "cat", "filter", "bb_flip", "transforms.rotation", "peek_image_shape"),
    ],
)
def test_what_a_graph_is_made_of_is_usable(catalog: Catalog, name: str) -> None:
    assert catalog[name].unusable is None


def test_a_usable_image_operator_fits_into_a_chain(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.image and op.unusable is None:
            (taken,) = [port.kind for port in op.inputs if not port.optional]
            assert taken in ("image", "any"), op.name
            (given,) = op.outputs
            assert given.kind == "image" or given.follows, op.name
            assert op.devices, op.name


def test_reasons_are_short_and_have_no_full_stop(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is not None:
            assert 5 < len(op.unusable) <= 80, op.name
            assert not op.unusable.endswith("."), op.name
