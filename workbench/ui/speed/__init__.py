"""The speed panel's view-model: runs in the background, records, and what is shown of them."""

from workbench.ui.speed.panel import EFFORTS, PARTS, Speed

__all__ = ["EFFORTS", "PARTS", "Speed"]
