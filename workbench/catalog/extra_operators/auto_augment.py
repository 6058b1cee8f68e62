"""Define the automatic augmentation functions of ``nvidia.dali.auto_aug``, each as one operator.

DALI implements these functions in Python with operators and conditionals. Here each function is
added, exported and imported as one call. The augmentation of each sample, its magnitude and its
direction are random. The operators are defined in ``auto_augment.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from workbench.catalog.extra_operators.rows import read_operators
from workbench.catalog.tables import read_tables

SUITE = (
    *("translate_x", "translate_y", "shear_x", "shear_y", "rotate", "brightness", "contrast"),
    *("color", "sharpness", "posterize", "solarize", "equalize", "auto_contrast", "identity"),
)
"""The augmentations of ``rand_augment`` and ``trivial_augment_wide``, in DALI's order."""

WARPS = SUITE[:5]
"""Augmentations that move pixels. Only they accept ``fill_value`` and ``interp_type``."""

POLICIES = ("image_net", "reduced_image_net", "svhn", "reduced_cifar10")
WITHOUT_TRANSLATION = "reduced_image_net"
"""Name of the policy without translations, which accepts no arguments for translations."""

NAMED: Mapping[str, bool] = {
    **dict.fromkeys(SUITE, True),
    "solarize_add": True,
    **dict.fromkeys(("equalize", "auto_contrast", "identity", "invert"), False),
}
"""Augmentations that a custom policy may use, mapped to whether they have a magnitude."""

OWN_POLICY = "apply_auto_augment"
"""Name of the operator that accepts a custom policy."""

POLICY_BINS = 11
"""Number of magnitude bins of the learned policies."""

SubPolicies = tuple[tuple[tuple[str | float | int, ...], ...], ...]
"""Sub-policies: each image is augmented by one of them, selected at random. A sub-policy is a
sequence of operations, each with a name, a probability and, for some augmentations, a magnitude."""

AUTO_AUGMENT = read_operators("auto_augment.toml")
"""Specifications of the automatic augmentation functions, by name."""


@cache
def learnt_policies() -> Mapping[str, SubPolicies]:
    """Return the sub-policies of each learned policy, by policy name."""
    return read_tables("extra_operators/policies.toml")
