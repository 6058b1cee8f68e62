"""torchvision's transforms, v1 and v2, by DALI's operators, and the reverse."""
