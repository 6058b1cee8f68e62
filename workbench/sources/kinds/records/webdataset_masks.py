"""WebDataset whose samples have a mask beside the image: ``0000.jpg, 0000.mask.png``.

As ``image_masks`` reads folders: one number for each pixel, opened by Pillow within the reader. An
archive is read so where a graph takes masks, or its kind is named (``webdataset_masks:PATH``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.annotated import Annotated
from workbench.sources.kinds.image_masks import classes_of_masks, mask_numbers
from workbench.sources.kinds.records._tar_samples import with_component
from workbench.sources.kinds.records.webdataset import (
    WebDataset,
    find_shards,
    first_components,
    list_shards,
)

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


class WebDatasetMasks(Annotated, WebDataset):
    """Images with masks in tar archives."""

    about = "WebDataset with masks (0000.jpg, 0000.mask.png)"
    op = "readers.webdataset_masks"
    find = staticmethod(find_masked)
    reader = staticmethod(read_masked)
    outputs = ("jpegs", "masks")
    helpers = (*WebDataset.helpers, find_shards, mask_numbers, mask_component)
    imports = (*WebDataset.imports, "io")
    takes = frozenset({"webdataset"})
    targets = "masks"

    def _component(self, dataset: Dataset) -> str:
        (path, *_) = list_shards(dataset.argument)
        components = first_components(path)
        found = mask_component(components)
        if not found:
            raise DataError(
                f"{dataset}: its first samples have no mask (found: "
                f"{', '.join(sorted(components))}). Write one beside each image, 0000.mask.png, "
                "with a number for each pixel."
            )
        return found

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        self._component(dataset)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """A sample without a mask is at fault, or with one of another size than its image."""
        component = self._component(dataset)
        for sample, place in with_component(super().list_samples(dataset), component):
            fault = sample.fault or ("" if place else f"it has no {component}, as others have")
            yield sample._replace(label=0, fault=fault, mask=sample.path, mask_place=place or ())

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        found = with_component(samples, self._component(dataset))
        return classes_of_masks(
            sample._replace(mask=sample.path, mask_place=place) for sample, place in found if place
        )


SOURCE = WebDatasetMasks()
