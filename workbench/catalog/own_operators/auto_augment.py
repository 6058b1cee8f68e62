"""Automatic augmentation: functions of ``nvidia.dali.auto_aug``, each a node of its own.

DALI writes them in Python, of operators and conditionals. They are placed, emitted and imported as
one call. All draw: which augmentation a sample gets, how much of it, and in which direction.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from workbench.catalog.spec import ArgSpec, OpSpec, OutputRule, PortSpec

_LINEAR_OR_NEAREST = ("INTERP_NN", "INTERP_LINEAR")

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


@cache
def learnt_policies() -> Mapping[str, SubPolicies]:
    """The sub-policies of ``POLICIES``."""
    text = resources.files(__package__).joinpath("policies.toml").read_text(encoding="utf-8")
    return {
        name: tuple(tuple(map(tuple, sub_policy)) for sub_policy in sub_policies)
        for name, sub_policies in tomllib.loads(text).items()
    }


_TRANSLATION = {
    "shape": ArgSpec(
        *("shape", "int_list", "Height and width of the images, for translations in shares of it."),
        tensor=True,
        label="Image size (h, w)",
        unit="px",
        low=16,
        high=1024,
        step=1,
        minimum=1,
        form="fields",
        parts=("h", "w"),
        items=2,
        elements=("INT64", "INT32"),
    ),
    "max_translate_abs": ArgSpec(
        *("max_translate_abs", "int_list", "The furthest translation, where no shape is given."),
        label="Most translation (h, w)",
        unit="px",
        low=0,
        high=250,
        step=1,
        minimum=0,
        form="each",
        parts=("h", "w"),
        items=2,
    ),
    "max_translate_rel": ArgSpec(
        *("max_translate_rel", "float_list", "The furthest translation in shares of the shape."),
        label="Most translation (h, w)",
        low=0,
        high=1,
        step=0.05,
        minimum=0,
        form="each",
        parts=("h", "w"),
        items=2,
    ),
}
_WARP = {
    "fill_value": ArgSpec(
        *("fill_value", "int", "Fills what translation, shear and rotation leave empty."),
        default=128,
        label="Fill",
        low=0,
        high=255,
        step=1,
        minimum=0,
        maximum=255,
    ),
    "interp_type": ArgSpec(
        *("interp_type", "enum", "The interpolation of translation, shear and rotation."),
        enum="DALIInterpType",
        members=_LINEAR_OR_NEAREST,
        choices=_LINEAR_OR_NEAREST,
        label="Interpolation",
    ),
}
_BINS = ArgSpec(
    *("num_magnitude_bins", "int", "In how many steps each magnitude goes from least to most."),
    default=31,
    label="Magnitude steps",
    low=2,
    high=51,
    step=1,
    minimum=1,
    maximum=1000,
)
_EXCLUDED = ArgSpec(
    *("excluded", "str_list", "Names of augmentations to leave out."),
    label="Left out",
    choices=SUITE,
)


_MAGNITUDES_DOC = (
    "The ranges of brightness, contrast, color, sharpness and solarize. suite: as of "
    "nvidia.dali.auto_aug.augmentations, the larger the stronger, darker or lighter by chance. "
    "learnt: as of the learnt policies, colours from 0.1 to 1.9 times, where 1 changes nothing, "
    "and solarize from strong to weak."
)


def _function(name: str, module: str, label: str, doc: str, synonyms: tuple[str, ...],
              args: Mapping[str, ArgSpec]) -> OpSpec:  # fmt: skip
    return OpSpec(
        name=name,
        schema="",
        devices=("cpu", "gpu"),
        inputs=(PortSpec("data", "image", layouts=("HWC", "FHWC"), dtypes=("UINT8",)),),
        max_inputs=1,
        outputs=(PortSpec("output", "image", gives=OutputRule("input", "input", ("input",))),),
        args={**args, **_TRANSLATION, **_WARP},
        doc=doc,
        summary=doc.partition("\n")[0],
        category="policy",
        label=label,
        synonyms=synonyms,
        image=True,
        needs_channels=3,
        mutually_exclusive=(("shape", "max_translate_abs"),),
        module=module,
    )


AUTO_AUGMENT: Mapping[str, OpSpec] = {
    spec.name: spec
    for spec in (
        _function(
            *("rand_augment", "rand_augment", "RandAugment"),
            "Several augmentations of a suite of 14, drawn for each sample, all of one magnitude "
            "(arXiv 1909.13719).",
            ("RandAugment", "random augment", "N and M", "automatic augmentation", "autoaug"),
            {
                "n": ArgSpec(
                    *("n", "int", "How many augmentations each sample gets, one after another."),
                    required=True,
                    label="Operations",
                    low=1,
                    high=5,
                    step=1,
                    minimum=0,
                    maximum=16,
                    start=2,
                    advanced=False,
                ),
                "m": ArgSpec(
                    *("m", "int", "The magnitude of each: a step, from 0."),
                    required=True,
                    label="Magnitude",
                    low=0,
                    high=30,
                    step=1,
                    minimum=0,
                    start=9,
                    advanced=False,
                ),
                "num_magnitude_bins": _BINS,
                "monotonic_mag": ArgSpec(
                    *("monotonic_mag", "bool", "Whether a larger magnitude is always stronger."),
                    default=True,
                    label="Larger is stronger",
                ),
                "excluded": _EXCLUDED,
            },
        ),
        _function(
            *("trivial_augment_wide", "trivial_augment", "TrivialAugment"),
            "One augmentation of a suite of 14 for each sample, of any magnitude "
            "(arXiv 2103.10158).",
            ("TrivialAugment", "TrivialAugmentWide", "TA wide", "automatic augmentation"),
            {"num_magnitude_bins": replace(_BINS, advanced=False), "excluded": _EXCLUDED},
        ),
        _function(
            *("auto_augment", "auto_augment", "AutoAugment"),
            "One of the learnt sub-policies of two augmentations for each sample "
            "(arXiv 1805.09501).",
            (
                "AutoAugment",
                "policy",
                "ImageNet policy",
                "CIFAR policy",
                "SVHN policy",
                "automatic augmentation",
            ),
            {
                "policy_name": ArgSpec(
                    *("policy_name", "str", "The data for which the policy was learnt."),
                    default="image_net",
                    label="Policy",
                    choices=POLICIES,
                    start="image_net",
                    advanced=False,
                ),
            },
        ),
        _function(
            *(OWN_POLICY, "auto_augment", "Own policy"),
            "One of the sub-policies of a policy of your own for each sample, each of them some "
            "augmentations with their probabilities and magnitudes.",
            (
                "own policy",
                "custom policy",
                "sub-policies",
                "AutoAugment",
                "automatic augmentation",
            ),
            {
                "policy": ArgSpec(
                    *("policy", "policy", "Its sub-policies, of which each sample gets one."),
                    required=True,
                    label="Policy",
                    start=(
                        (("rotate", 0.7, 6), ("equalize", 0.5)),
                        (("color", 0.8, 8), ("solarize", 0.3, 3)),
                        (("shear_x", 0.6, 5), ("auto_contrast", 0.5)),
                    ),
                    advanced=False,
                ),
                "num_magnitude_bins": replace(_BINS, default=POLICY_BINS),
                "magnitudes": ArgSpec(
                    *("magnitudes", "str", _MAGNITUDES_DOC),
                    default="suite",
                    label="Magnitudes",
                    choices=("suite", "learnt"),
                ),
            },
        ),
    )
}
