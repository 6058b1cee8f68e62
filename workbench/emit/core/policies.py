"""Write custom policies: the definition of a ``Policy`` above the pipeline, and its call."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.extra_operators.auto_augment import OWN_POLICY
from workbench.emit.core.python import INDENT, LINE, literal
from workbench.graph.model import Node
from workbench.graph.model.policy import Operation, bins_of, operations_of
from workbench.graph.model.values import elements

_MODULE = "augmentations"
_LEARNT = {
    **dict.fromkeys(("brightness", "contrast", "color"), ("(0.1, 1.9)", "False", "None")),
    "sharpness": ("(0.1, 1.9)", "False", f"{_MODULE}.sharpness_kernel_shifted"),
    "solarize": ("(0, 256)", "False"),
}
"""Arguments of ``augmentation`` (as code) for learned magnitudes, by augmentation name."""
_WARPING = ("translate_x", "translate_y", "shear_x", "shear_y", "rotate")
_TRANSLATING = {"translate_y": 0, "translate_x": 1}
"""Index of each translation's maximum in (height, width)."""

IMPORTS = ("from nvidia.dali.auto_aug.core import Policy",)
MODULES = (_MODULE,)
"""Modules of ``nvidia.dali.auto_aug`` that a policy needs, in addition to ``IMPORTS``."""
NAMES = (_MODULE, "Policy")
"""Names that the code of a policy uses."""


def has_policy(node: Node) -> bool:
    """Return True if a node has a custom policy."""
    return node.op == OWN_POLICY and "policy" in node.args


def policy_augmentations(node: Node) -> dict[str, str]:
    """Map each augmentation of a node's policy, in order of use, to its code."""
    used = dict.fromkeys(each.name for sub in operations_of(node.args["policy"]) for each in sub)
    return {name: _augmentation(node, name) for name in used}


def is_plain(source: str) -> bool:
    """Return True if the code is only the name of a DALI augmentation, which needs no constant."""
    return not source.endswith(")")


def _augmentation(node: Node, name: str) -> str:
    if name in _TRANSLATING:
        return _translation(node, name)
    if node.args.get("magnitudes") == "learnt" and name in _LEARNT:
        return _augmentation_call(name, *_LEARNT[name])
    return f"{_MODULE}.{name}"


def _translation(node: Node, name: str) -> str:
    shaped = needs_image_shape(node)
    limits = node.args.get("max_translate_rel" if shaped else "max_translate_abs")
    stem = name if shaped else f"{name}_no_shape"
    if limits is None:
        return f"{_MODULE}.{stem}"
    sides = elements(limits)
    most = sides[_TRANSLATING[name]] if len(sides) > 1 else sides[0]
    return _augmentation_call(stem, f"(0, {most!r})", "True")


def _augmentation_call(name: str, *arguments: str) -> str:
    whole = f"{_MODULE}.{name}.augmentation({', '.join(arguments)})"
    if len(name) + 3 + len(whole) <= LINE:
        return whole
    return f"{_MODULE}.{name}.augmentation(\n{INDENT}{', '.join(arguments)}\n)"


def needs_image_shape(node: Node) -> bool:
    """Return True if a node's translations are relative to the image size."""
    return "shape" in node.args or "shape" in node.inputs


def policy_source(node: Node, names: Mapping[str, str], name: str) -> str:
    """Return the code of a node's policy. ``names`` maps augmentations to their variables."""
    lines = [
        f"{INDENT}name={literal(name)},",
        f"{INDENT}num_magnitude_bins={bins_of(node)},",
        f"{INDENT}sub_policies=[",
    ]
    for sub_policy in operations_of(node.args["policy"]):
        texts = [_operation(each, names) for each in sub_policy]
        line = f"{INDENT * 2}[{', '.join(texts)}],"
        broken = [f"{INDENT * 2}[", *(f"{INDENT * 3}{text}," for text in texts), f"{INDENT * 2}],"]
        lines += [line] if len(line) <= LINE else broken
    return "\n".join(["Policy(", *lines, f"{INDENT}],", ")"])


def _operation(operation: Operation, names: Mapping[str, str]) -> str:
    return f"({names[operation.name]}, {operation.probability!r}, {operation.magnitude!r})"


def is_call_argument(node: Node, name: str) -> bool:
    """Return False if DALI would reject an argument because no augmentation of a policy uses it."""
    if not has_policy(node):
        return True
    used = {each.name for sub in operations_of(node.args["policy"]) for each in sub}
    users = {"fill_value": _WARPING, "interp_type": _WARPING, "shape": tuple(_TRANSLATING)}
    return name == "data" or bool(used.intersection(users.get(name, ())))


def longest(node: Node) -> int:
    """Return the number of operations in the longest sub-policy of a node."""
    return max(map(len, operations_of(node.args["policy"])))


def policy_module(node: Node) -> str:
    """Return the code of a module that defines a node's policy as ``POLICY``."""
    sources = policy_augmentations(node)
    made = [f"{name}_ = {source}" for name, source in sources.items()]
    policy = policy_source(node, {name: f"{name}_" for name in sources}, node.id)
    imports = [f"from nvidia.dali.auto_aug import {', '.join(MODULES)}", *IMPORTS]
    return "\n".join([*imports, *made, f"POLICY = {policy}"]) + "\n"
