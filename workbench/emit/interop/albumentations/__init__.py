"""Albumentations' transforms, of versions 1 and 2, by DALI's operators, and the reverse.

Arguments are those of Albumentations 1.4 and 2.0, defaults those of 2.0 where the two differ; each
function is named after its class.
"""

from workbench.emit.interop.albumentations import colour, geometry
from workbench.emit.interop.albumentations.library import ALBUMENTATIONS

__all__ = ["ALBUMENTATIONS", "colour", "geometry"]
