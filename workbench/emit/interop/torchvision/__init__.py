"""Convert torchvision's transforms (v1 and v2) to DALI operators, and vice versa."""

from workbench.emit.interop.torchvision import colour, composition, functions, geometry
from workbench.emit.interop.torchvision.composition import TORCHVISION

__all__ = ["TORCHVISION", "colour", "composition", "functions", "geometry"]
