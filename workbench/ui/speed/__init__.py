"""The speed lab's panel: runs, records, and how both are shown."""

from workbench.ui.speed.panel import EFFORTS, PARTS, SpeedPanel

__all__ = ["EFFORTS", "PARTS", "SpeedPanel"]
