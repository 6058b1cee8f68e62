"""Compute the bytes that a batch copies from the host to a GPU, without running the graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from statistics import fmean
from typing import Any

from PIL import Image

from workbench.bench.measuring.config import config_of, with_config
from workbench.engine.file_checks.decoder_rules import decoder_of
from workbench.engine.reading.encoded_images import pillow_warnings_ignored
from workbench.graph.model import DecodeDevice
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of, transfers
from workbench.graph.types.tensor_type import TensorType
from workbench.sources import Sample


def copied_bytes(
    resolved: ResolvedGraph, device: DecodeDevice, file_bytes: float | None
) -> float | None:
    """Return the bytes of a batch that are copied to a GPU, or None if they depend on the data.

    These are the outputs on the CPU, which a training program copies, the files of a mixed decoder
    (``file_bytes`` each, see ``copied_file_bytes``), and other inputs of GPU operators from the
    CPU.
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


def copied_file_bytes(samples: Sequence[Sample]) -> tuple[float | None, int]:
    """Return the mean bytes per file that mixed decoding copies, and the files decoded on the CPU.

    Such a file is copied as RGB pixels of 8 bits, at most those of the whole image; other files are
    copied encoded. The mean is None if there are no files or an image cannot be read.
    """
    sizes: list[float] = []
    on_cpu = 0
    for sample in samples:
        try:
            with sample.open() as file, pillow_warnings_ignored():
                decoded = not sample.with_pillow and decoder_of(file)[0] == "CPU"
                size = float(sample.size)
                if decoded:
                    file.seek(0)
                    size = 3.0 * prod(Image.open(file).size)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None, on_cpu
        on_cpu += decoded
        sizes.append(size)
    return (fmean(sizes) if sizes else None), on_cpu


def _sample_bytes(flow: TensorType) -> float | None:
    if flow.shape is None or flow.dtype is None or None in flow.shape:
        return None
    bits = re.search(r"\d+$", flow.dtype)
    item = int(bits[0]) // 8 if bits else 1 if flow.dtype == "BOOL" else 4
    return float(prod(side or 0 for side in flow.shape) * item)


def copied_text(extra: Mapping[str, Any]) -> str:
    """Format a record's bytes per batch that are copied to a GPU, or "" if it has none."""
    found = {
        device: _megabytes(size)
        for device, size in (extra.get("copied_bytes") or {}).items()
        if size is not None
    }
    pixels, files = extra.get("cpu_decoded") or (0, 0)
    if pixels and "mixed" in found:
        found["mixed"] = f"up to {found['mixed']}"
    names = {"cpu": "if decoded on the CPU", "mixed": "with mixed decoding"}
    text = ", ".join(f"{size} {names[device]}" for device, size in found.items())
    if pixels and "mixed" in found:
        text += f" (the CPU decodes {pixels:,} of {files:,} files, which are copied as pixels)"
    return text


def _megabytes(size: float) -> str:
    megabytes = size / 1e6
    return f"{megabytes:.3g} MB" if megabytes < 999.5 else f"{megabytes / 1e3:,.3g} GB"
