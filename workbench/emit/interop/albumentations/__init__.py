"""Convert Albumentations' transforms (versions 1 and 2) to DALI operators, and vice versa."""

from workbench.emit.interop.albumentations import colour, composition, crops, geometry
from workbench.emit.interop.albumentations.composition import ALBUMENTATIONS

__all__ = ["ALBUMENTATIONS", "colour", "composition", "crops", "geometry"]
