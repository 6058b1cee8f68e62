"""Test images with the tensors of a graph, and a checker that finds mistakes of a server."""

from workbench.serving_check.packing import pack
from workbench.serving_check.result import PackedImage, ServingPack

__all__ = ["PackedImage", "ServingPack", "pack"]
