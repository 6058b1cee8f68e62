"""Define the named constants at the top of an exported program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.emit.core import policies
from workbench.emit.core.python import LINE
from workbench.graph.model import Node

_SETTINGS = {"BATCH_SIZE", "NUM_THREADS", "PIPELINES", "DEVICE", "SEED", "IMAGES"}
"""Names of the constants that every script defines."""
_SIDES, _SIZES = ("shape", "size", "crop"), ("CROP", "SIZE")
"""Arguments that set an image size, and the catalogue's names for constants with a size."""


class Constants:
    """Named constants of a program: ``sources`` maps their names to their values as code.

    ``known`` are the constants that the program defines already.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self.sources: dict[str, str] = dict(known)
        self._names: dict[tuple[str, str], str] = {}

    def name_of(self, node: Node, argument: str) -> str | None:
        """Return the name of the constant that replaces a node's argument, or None."""
        return self._names.get((node.id, argument))

    def add_values(
        self,
        nodes: Iterable[Node],
        catalog: Catalog,
        value_text: Callable[[Value, ArgSpec], str],
        is_one: Callable[[str, ArgSpec], bool],
    ) -> None:
        """Define a constant for each list argument for which ``is_one`` returns True.

        ``value_text`` returns the value as code. Equal sizes share a constant.
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
        """Define constants for the custom policies of nodes. Equal policies share a constant."""
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
        """Define a constant, and return its name: ``name``, or a variant if ``name`` is taken."""
        if self.sources.get(name, text) != text:
            name = f"{node.id}_{name}".upper()
        while name in _SETTINGS or self.sources.get(name, text) != text:
            name += "_"
        self.sources[name] = text
        return name


def is_named(text: str, arg: ArgSpec) -> bool:
    """Return True if a list is long, or if the catalogue names a constant for its argument."""
    return arg.constant is not None or len(text) >= LINE // 2
