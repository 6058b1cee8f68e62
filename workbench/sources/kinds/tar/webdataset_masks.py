"""WebDataset whose samples have a mask beside the image: ``0000.jpg, 0000.mask.png``.

As ``image_masks`` reads folders: one number for each pixel, opened by Pillow within the reader. An
archive is read so where a graph takes masks, or its kind is named (``webdataset_masks:PATH``).
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, kind_of_functions
from workbench.sources.kinds.images.image_masks import classes_of_masks, mask_numbers
from workbench.sources.kinds.tar import webdataset
from workbench.sources.kinds.tar._tar_samples import with_component
from workbench.sources.kinds.tar.webdataset import find_shards, first_components, list_shards

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


def mask_component(components: Any) -> str:
    """The first component of an image file with mask or seg in its name; empty for none."""
    files = (".png", ".bmp", ".tif", ".tiff", ".webp")
    found = sorted(name for name in components if f".{name}".endswith(files))
    return next((name for name in found if "mask" in name or "seg" in name), "")


def find_masked(data: Any) -> dict[str, Any]:
    """Arguments of the WebDataset reader: the images, and the component that is their mask."""
    found = find_shards(data)
    return {**found, "ext": [found["ext"][0], mask_component(first_components(found["paths"][0]))]}


def read_masked(**options: Any) -> Any:
    """Images and their masks, int32 (height, width, 1)."""
    options.setdefault("case_sensitive_extensions", False)
    made: Any = fn.readers.webdataset(**options)
    jpegs, encoded = made
    masks = fn.python_function(
        encoded, function=lambda content: mask_numbers(content.tobytes()), output_layouts=["HWC"]
    )
    return jpegs, masks


def _component(dataset: Dataset) -> str:
    (path, *_) = list_shards(dataset.argument)
    components = first_components(path)
    found = mask_component(components)
    if not found:
        raise DataError(
            f"{dataset}: its first samples have no mask (found: {', '.join(sorted(components))}). "
            "Write one beside each image, 0000.mask.png, with a number for each pixel."
        )
    return found


def _require(dataset: Dataset) -> None:
    webdataset.SOURCE.require(dataset)
    _component(dataset)


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """A sample without a mask is at fault, or with one of another size than its image."""
    component = _component(dataset)
    for sample, place in with_component(webdataset.SOURCE.list_samples(dataset), component):
        fault = sample.fault or ("" if place else f"it has no {component}, as others have")
        yield sample._replace(label=0, fault=fault, mask=sample.path, mask_place=place or ())


def _classes_in(dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
    found = with_component(samples, _component(dataset))
    return classes_of_masks(
        sample._replace(mask=sample.path, mask_place=place) for sample, place in found if place
    )


_HELPERS: tuple[Any, ...] = (find_shards, mask_numbers, mask_component)
SOURCE = kind_of_functions(
    webdataset.SOURCE,
    about="WebDataset with masks (0000.jpg, 0000.mask.png)",
    op="readers.webdataset_masks",
    find=find_masked,
    reader=read_masked,
    outputs=("jpegs", "masks"),
    helpers="\n\n".join([webdataset.SOURCE.helpers[0], *map(inspect.getsource, _HELPERS)]),
    imports=(*webdataset.SOURCE.imports, "io"),
    suffixes=(),
    accepts=lambda path: False,  # most take a class for each image
    takes=frozenset({"webdataset"}),
    with_targets=(),
    needs_index=lambda dataset: False,
    is_indexed=False,
    require=_require,
    list_samples=_list_samples,
    classes_in=_classes_in,
    targets="masks",
    options=frozenset(
        {
            *("random_shuffle", "initial_fill", "pad_last_batch", "num_shards", "shard_id"),
            *("stick_to_shard", "prefetch_queue_depth", "dont_use_mmap"),
        }
    ),
)
