"""Albumentations' transforms, of versions 1 and 2, by DALI's operators, and the reverse."""

from workbench.emit.interop.albumentations import colour, composition, crops, geometry
from workbench.emit.interop.albumentations.composition import ALBUMENTATIONS

__all__ = ["ALBUMENTATIONS", "colour", "composition", "crops", "geometry"]
