"""Automatic augmentation: functions of ``nvidia.dali.auto_aug``, each a node of its own.

DALI writes them in Python, of operators and conditionals. They are placed, emitted and imported as
one call. All draw: which augmentation a sample gets, how much of it, and in which direction. Their
rows are in ``auto_augment.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from workbench.catalog.own_operators.rows import read_operators
from workbench.catalog.tables import read_tables

SUITE = (
    *("translate_x", "translate_y", "shear_x", "shear_y", "rotate", "brightness", "contrast"),
    *("color", "sharpness", "posterize", "solarize", "equalize", "auto_contrast", "identity"),
)
"""The augmentations of ``rand_augment`` and ``trivial_augment_wide``, in DALI's order."""

WARPS = SUITE[:5]
"""Those that move the image: the only ones that take ``fill_value`` and ``interp_type``."""

POLICIES = ("image_net", "reduced_image_net", "svhn", "reduced_cifar10")
WITHOUT_TRANSLATION = "reduced_image_net"
"""The policy that moves nothing: it takes none of the arguments of translations."""

NAMED: Mapping[str, bool] = {
    **dict.fromkeys(SUITE, True),
    "solarize_add": True,
    **dict.fromkeys(("equalize", "auto_contrast", "identity", "invert"), False),
}
"""The augmentations that a policy of one's own may name -> whether they take a magnitude."""

OWN_POLICY = "apply_auto_augment"
"""The function that takes a policy of one's own."""

POLICY_BINS = 11
"""In how many steps the learnt policies give their magnitudes."""

SubPolicies = tuple[tuple[tuple[str | float | int, ...], ...], ...]
"""Sub-policies, of which each sample gets one, each of operations: a name, a probability and,
where the augmentation takes one, a magnitude."""

AUTO_AUGMENT = read_operators("auto_augment.toml")
"""By name."""


@cache
def learnt_policies() -> Mapping[str, SubPolicies]:
    """The sub-policies of ``POLICIES``."""
    return read_tables("own_operators/policies.toml")
