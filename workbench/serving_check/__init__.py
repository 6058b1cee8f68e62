"""Write test images with a graph's tensors, and a program that finds a server's mistakes."""

from workbench.serving_check.packing import pack
from workbench.serving_check.result import PackedImage, ServingPack

__all__ = ["PackedImage", "ServingPack", "pack"]
