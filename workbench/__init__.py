"""Compose, see, measure and ship NVIDIA DALI image augmentation pipelines."""

__version__ = "0.1.0"
