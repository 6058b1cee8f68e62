"""What DALI had before and has no more, while a script that asks for them is imported.

Each class is made of what DALI says does the same, in its release notes of 0.5 to 1.0:
https://docs.nvidia.com/deeplearning/dali.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_DECODERS: Mapping[str, str] = {"": "Image", "Crop": "ImageCrop", "RandomCrop": "ImageRandomCrop",
                                "Slice": "ImageSlice"}  # fmt: skip
_LOST = ("cache_type_", "use_batched_decode")


@contextmanager
def older_names_in_dali() -> Iterator[None]:
    """Within it ``nvidia.dali.ops`` has the classes that it lost, where it has no other of them."""
    ops: Any = import_module("nvidia.dali.ops")
    types: Any = import_module("nvidia.dali.types")
    added = []
    for name, make in _classes(ops, types).items():
        if not hasattr(ops, name):
            setattr(ops, name, make)
            added.append(name)
    try:
        yield
    finally:
        for name in added:
            delattr(ops, name)


def _classes(ops: Any, types: Any) -> dict[str, Callable[..., Any]]:
    def decoder(kind: str, device: str) -> Callable[..., Any]:
        def make(**given: Any) -> Any:
            given = {k: v for k, v in given.items() if k not in _LOST}
            return getattr(ops.decoders, kind)(**{"device": device, **given})

        return make

    def normalise(layout: str) -> Callable[..., Any]:
        def make(**given: Any) -> Any:
            size = {k: given.pop(k) for k in ("height", "width") if k in given}
            if size:
                given["crop"] = (size.get("height", 0), size.get("width", 0))
            return ops.CropMirrorNormalize(output_layout=layout, **given)

        return make

    found: dict[str, Callable[..., Any]] = {
        "NormalPermute": normalise("CHW"),
        "CropCastPermute": normalise("CHW"),
    }
    for suffix, kind in _DECODERS.items():
        found[f"nvJPEGDecoder{suffix}"] = decoder(kind, "mixed")
        found[f"HostDecoder{suffix}"] = decoder(kind, "cpu")
    return found
