"""Compositions of torchvision, Albumentations, Kornia and timm as graphs.

A composition is read as calls (``transform_call``), whether the library is installed or not. Each
library has a module in which every transformation that DALI can do is a function with the library's
own arguments and defaults (``library``).
"""
