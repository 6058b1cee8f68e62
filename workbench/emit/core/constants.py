"""Named constants above the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.emit.core import policies
from workbench.emit.core.python import LINE
from workbench.graph.model import Node

_SETTINGS = {"BATCH_SIZE", "NUM_THREADS", "PIPELINES", "DEVICE", "SEED", "IMAGES"}
"""Constants that every script has."""
_SIDES, _SIZES = ("shape", "size", "crop"), ("CROP", "SIZE")
"""Arguments with image sizes, and constants for them."""


class Constants:
    """``sources`` maps names to source text. ``known`` constants exist already."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.sources: dict[str, str] = dict(known)
        self._names: dict[tuple[str, str], str] = {}

    def name_of(self, node: Node, argument: str) -> str | None:
        """The constant for an argument of a node, if there is one."""
        return self._names.get((node.id, argument))

    def add_values(
        self,
        nodes: Iterable[Node],
        catalog: Catalog,
        value_text: Callable[[Value, ArgSpec], str],
        is_one: Callable[[str, ArgSpec], bool],
    ) -> None:
        """Name the lists for which ``is_one``, as written by ``value_text``.

        Arguments with the same size share its name.
        """
        lists = [
            (node, name, arg, value_text(value, arg))
            for node in nodes
            for name, value in node.args.items()
            if isinstance(value, tuple)
            for arg in [catalog[node.op].args[name]]
        ]
        for node, name, arg, text in lists:
            if arg.kind != "policy" and is_one(text, arg):
                constant = arg.constant or f"{node.id}_{name}".upper()
                self._names[node.id, name] = self._add(node, constant, text)
        for node, name, _, text in lists:
            if name in _SIDES:
                for known in (each for each in _SIZES if self.sources.get(each) == text):
                    self._names.setdefault((node.id, name), known)

    def add_policies(self, nodes: Iterable[Node]) -> None:
        """Name custom policies, equal ones once."""
        known: dict[str, str] = {}
        for node in filter(policies.has_policy, nodes):
            sources = policies.policy_augmentations(node)
            names = {
                name: source if policies.is_plain(source) else self._add(node, name.upper(), source)
                for name, source in sources.items()
            }
            unnamed = policies.policy_source(node, names, "")
            if unnamed not in known:
                source = policies.policy_source(node, names, node.id)
                known[unnamed] = self._add(node, "POLICY", source)
            self._names[node.id, "policy"] = known[unnamed]

    def _add(self, node: Node, name: str, text: str) -> str:
        """The name for a constant of a node: ``name``, if it is free."""
        if self.sources.get(name, text) != text:
            name = f"{node.id}_{name}".upper()
        while name in _SETTINGS or self.sources.get(name, text) != text:
            name += "_"
        self.sources[name] = text
        return name


def is_named(text: str, arg: ArgSpec) -> bool:
    """Whether a list becomes a constant: named by the catalogue, or long."""
    return arg.constant is not None or len(text) >= LINE // 2
