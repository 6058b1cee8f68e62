"""Compute the bytes that a batch copies from the host to a GPU, without running the graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from workbench.bench.measuring.config import config_of, with_config
from workbench.graph.model import DecodeDevice
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of, transfers
from workbench.graph.types.tensor_type import TensorType


def copied_bytes(
    resolved: ResolvedGraph, device: DecodeDevice, file_bytes: float | None
) -> float | None:
    """Return the bytes of a batch that are copied to a GPU, or None if they depend on the data.

    These are the outputs on the CPU, which a training program copies, the encoded files of a mixed
    decoder (``file_bytes`` is their mean size), and other inputs of GPU operators from the CPU.
    """
    resolved = with_config(resolved, config_of(resolved.graph, device))
    devices, files = resolved.devices, 0
    ports = {port for port in resolved.graph.outputs.values() if device_of(devices, port) == "cpu"}
    for node in resolved.nodes:
        files += devices[node.id] == "mixed"
        copied = transfers(node, resolved.spec(node), devices)
        ports |= {node.inputs[name] for name, to in copied.items() if to == "gpu"}
    sizes = [file_bytes if files else 0.0, *(_sample_bytes(resolved.types[p]) for p in ports)]
    if None in sizes:
        return None
    return resolved.graph.settings.batch_size * sum(size or 0.0 for size in sizes)


def _sample_bytes(flow: TensorType) -> float | None:
    if flow.shape is None or flow.dtype is None or None in flow.shape:
        return None
    bits = re.search(r"\d+$", flow.dtype)
    item = int(bits[0]) // 8 if bits else 1 if flow.dtype == "BOOL" else 4
    return float(prod(side or 0 for side in flow.shape) * item)


def copied_text(extra: Mapping[str, Any]) -> str:
    """Format a record's bytes per batch that are copied to a GPU, or "" if it has none."""
    found = extra.get("copied_bytes") or {}
    names = {"cpu": "decoded on the CPU", "mixed": "with mixed decoding"}
    return ", ".join(
        f"{'unknown' if size is None else f'{size / 1e6:.3g} MB'} {names[device]}"
        for device, size in found.items()
    )
