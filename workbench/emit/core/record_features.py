"""Write the calls of DALI's readers that output named features of records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.catalog.extra_operators.readers import DALI_READERS
from workbench.catalog.spec import Value
from workbench.emit.core.python import call, literal
from workbench.graph.model import Node
from workbench.sources.record_features import (
    COMPONENT_TYPES,
    RECORD_TYPES,
    TYPES,
    Feature,
    features_in,
)

_RECORDS, _COMPONENTS = "readers.tfrecord_features", "readers.webdataset_features"
_ONLY_HERE = ("features", "label_width")
"""Arguments of a node that DALI's readers do not have."""
_CONVERTED = {"digits": "read_digits", "npy": "read_array"}
"""Functions of ``kinds/records/webdataset_features.py`` that convert a component, by its type."""


def reader_of_dali(node: Node) -> str:
    """Return the name of DALI's reader for a node with named outputs, or "" for other nodes."""
    return DALI_READERS.get(node.op, "")


def is_only_here(node: Node, name: str) -> bool:
    """Return True if exported code passes an argument in a different form, or omits it."""
    return node.op in DALI_READERS and name in _ONLY_HERE


def imports_of_features(nodes: Iterable[Node]) -> list[str]:
    """Return the import line that declared TFRecord features need."""
    return ["from nvidia.dali import tfrecord"] * any(node.op == _RECORDS for node in nodes)


def features_text(value: Value) -> str:
    """Return the code of DALI's argument ``features``: a dictionary of TFRecord features."""
    features = features_in(value, RECORD_TYPES)
    return "{" + ", ".join(f"{literal(each.name)}: {_declared(each)}" for each in features) + "}"


def _declared(feature: Feature) -> str:
    if feature.type in ("image", "bytes"):
        return 'tfrecord.FixedLenFeature([], tfrecord.string, "")'
    kind = f"tfrecord.{feature.type}"
    default = "0.0" if feature.type == "float32" else "0"
    # A FixedLenFeature with fewer values, or of another type, would be uninitialized memory.
    rest = f"{list(feature.shape[1:])}, " if None in feature.shape[:-1] else ""
    return f"tfrecord.VarLenFeature({rest}{kind}, {default})"


def feature_arguments(node: Node, constant: str | None) -> list[str]:
    """Return the reader's arguments that name the features, or refer to them by ``constant``."""
    value = node.args.get("features", ())
    if node.op == _RECORDS:
        return [f"features={constant or features_text(value)}"]
    if node.op != _COMPONENTS:
        return []
    found = features_in(value, COMPONENT_TYPES)
    arguments = [f"ext={literal(tuple(each.name for each in found))}"]
    if any(each.shape for each in found):
        types = ("float" if each.type == "float32" else each.type for each in found)
        named = (each.upper() if each in COMPONENT_TYPES[4:] or each == "float" else "UINT8"
                 for each in types)  # fmt: skip
        arguments.append(f"dtypes=[{', '.join(f'types.{name}' for name in named)}]")
    return arguments


def reader_call(targets: str, function: str, arguments: Sequence[str], indent: str) -> list[str]:
    """Return the lines of a TFRecord reader's call, with ``.values()`` for its dictionary."""
    suffix = ".values()"
    if "," not in targets:
        targets = f"({targets},)"
    lines = call(targets, function + " " * len(suffix), arguments, indent)
    lines[0] = lines[0].replace(function + " " * len(suffix), function, 1)
    return [*lines[:-1], lines[-1] + suffix]


def conversion_lines(node: Node, names: Sequence[str], indent: str) -> list[str]:
    """Return statements that convert features.

    Digits become integers, .npy files arrays, and numbers are required to have the declared shape.
    """
    if node.op not in (_RECORDS, _COMPONENTS):
        return []
    found = []
    features = features_in(node.args.get("features"), TYPES[node.op])
    for name, each in zip(names, features, strict=False):
        if node.op == _RECORDS and each.type != "image":
            fixed = each.type != "bytes" and None not in each.shape
            shape = f", {list(each.shape)}" if fixed else ""
            found.append(f"{indent}{name} = require_shape({name}{shape})")
        elif node.op == _COMPONENTS and each.type in _CONVERTED:
            found.append(f"{indent}{name} = {_CONVERTED[each.type]}({name})")
    return found
