"""Faults of automatic augmentation: arguments that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.own_operators.auto_augment import (
    OWN_POLICY,
    SUITE,
    WARPS,
    WITHOUT_TRANSLATION,
)
from workbench.catalog.spec import OpSpec
from workbench.graph.model import Node
from workbench.graph.model.faults import Fault
from workbench.graph.model.policy import bins_of, policy_fault

_MADE_TWICE = {"brightness", "contrast"}
"""Augmentations that DALI 2.4 cannot build beside each other on the GPU from fixed magnitudes."""


def auto_augment_faults(node: Node, spec: OpSpec, on_gpu: bool) -> Iterator[Fault]:
    """What DALI would refuse of one call, beyond what each argument takes by itself.

    ``on_gpu`` says whether its images are there.
    """
    yield from _magnitude(node, spec)
    yield from _left_out(node)
    if node.op == OWN_POLICY and policy_fault(policy := node.args.get("policy", ())) is None:
        found = policy_fault(policy, bins_of(node))
        if found:
            yield Fault(node.id, "policy", *found, "value")
    if on_gpu:
        yield from _fixed_magnitudes(node)
    translating = [name for name in ("shape", "max_translate_abs", "max_translate_rel")
                   if name in node.args or name in node.inputs]  # fmt: skip
    if node.args.get("policy_name") == WITHOUT_TRANSLATION:
        for name in translating:
            yield Fault(
                node.id,
                name,
                f"the policy {WITHOUT_TRANSLATION} translates nothing",
                "Leave it out, or choose another policy.",
                "apart",
                name,
            )
    elif "max_translate_rel" in translating and "shape" not in translating:
        yield Fault(
            node.id,
            "max_translate_rel",
            "it is a share of the images' size, and shape does not say that",
            "Give shape too, or max_translate_abs instead.",
            "apart",
            "max_translate_rel",
        )


def _magnitude(node: Node, spec: OpSpec) -> Iterator[Fault]:
    magnitude = node.args.get("m")
    if magnitude is None or "num_magnitude_bins" not in spec.args:
        return
    bins = node.args.get("num_magnitude_bins", spec.args["num_magnitude_bins"].default)
    if isinstance(magnitude, int) and isinstance(bins, int) and magnitude >= bins >= 1:
        yield Fault(
            node.id,
            "m",
            f"it is {magnitude}, and there are {bins} steps",
            f"Give 0 to {bins - 1}, or more steps with num_magnitude_bins.",
            "value",
        )


def _left_out(node: Node) -> Iterator[Fault]:
    excluded = node.args.get("excluded")
    if isinstance(excluded, str):  # DALI would take its letters
        found = f"{excluded[:40]!r} is a text, not a list of texts"
        yield Fault(node.id, "excluded", found, "Give a list of names.", "value")
    names = excluded if isinstance(excluded, tuple) else ()
    unknown = [name for name in names if name not in SUITE]
    if unknown:
        yield Fault(
            node.id,
            "excluded",
            f"{unknown[0]!r} is no augmentation of the suite",
            f"There are: {', '.join(SUITE)}.",
            "value",
        )
    elif names and set(names) == set(SUITE):
        yield Fault(
            node.id, "excluded", "it leaves out all of them", "Leave one of them in.", "value"
        )
    elif set(WARPS) <= set(names):
        yield Fault(
            node.id,
            "excluded",
            "it leaves out all that move the image, and DALI 2.4 builds none without these",
            f"Leave one of them in: {', '.join(WARPS)}.",
            "value",
        )


def _fixed_magnitudes(node: Node) -> Iterator[Fault]:
    """``OpSpec's input "__Split[1]" not found``, says DALI; on the CPU it builds them."""
    excluded = node.args.get("excluded") or ()
    left_out = set(excluded) if isinstance(excluded, tuple) else set()
    if node.args.get("monotonic_mag") is False and not _MADE_TWICE & left_out:
        yield Fault(
            node.id,
            "monotonic_mag",
            "it is False, with which DALI 2.4 builds brightness and contrast on the CPU only",
            "Set it to True, leave one of the two out with excluded, or decode on the CPU.",
            "value",
        )
