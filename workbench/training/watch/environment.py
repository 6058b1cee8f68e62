"""Find models, schedulers, GPUs, pipelines, and waits for the GPU in a training process.

torch is looked up in ``sys.modules``: a process that has not imported it has no tensors.
"""

from __future__ import annotations

import gc
import linecache
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from workbench.engine.resources.gpu import Gpu, first_visible_gpu
from workbench.training.watch.batches import arrays

_SYNCHRONISING = "synchronizing CUDA operation"
"""Text that identifies the warnings of torch's ``set_sync_debug_mode``."""
_PIPELINE_NAMES = ("_pipes", "pipes", "_pipelines", "pipelines", "_pipe", "pipe", "batches")
_COPIES = 5


def torch_module() -> Any:
    """Return torch if the process has imported it, else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None


def cuda_in_use() -> bool:
    """Return whether torch has started CUDA in this process."""
    torch = torch_module()
    return torch is not None and bool(torch.cuda.is_initialized())


def models_in_memory() -> list[Any]:
    """Return the torch modules of this process that no other module contains, largest first."""
    torch = torch_module()
    if torch is None or not hasattr(torch, "nn"):
        return []
    found = _instances(torch.nn.Module)
    inner = {id(each) for one in found for each in (getattr(one, "_modules", None) or {}).values()}
    roots = [each for each in found if id(each) not in inner and _parameters(each)]
    return sorted(roots, key=lambda each: -sum(one.numel() for one in _parameters(each)))


def _instances(kind: type) -> list[Any]:
    # type(), because isinstance() would call properties of lazy modules
    return [each for each in gc.get_objects() if issubclass(type(each), kind)]


def _parameters(model: Any) -> list[Any]:
    with suppress(Exception):  # of a half-built or lazy module
        return list(model.parameters())
    return []


def devices_of_models(models: Iterable[Any]) -> list[str]:
    """Return the distinct devices of the models' parameters, in order of the parameters."""
    return list(dict.fromkeys(str(one.device) for model in models for one in _parameters(model)))


def is_finite(models: Iterable[Any]) -> bool:
    """Return whether all parameters of the models are finite."""
    torch = torch_module()
    return all(bool(torch.isfinite(one).all()) for model in models for one in _parameters(model))


def reason_against_repeating(
    restored: Iterable[Any], replaces: bool, models: Iterable[Any] = ()
) -> str:
    """Return why steps on a repeated batch would break this training, or an empty string.

    ``restored`` are objects whose state is restored after these steps. ``replaces`` is true if the
    steps replace steps of the loop, so that their total number does not change. ``models`` are the
    models in use.
    """
    torch = torch_module()
    if torch is None:
        return ""
    modes = [getattr(each, "training", True) for each in models]
    if not torch.is_grad_enabled() or (modes and not any(modes)):
        return "the loop evaluates a model, and a repeated batch would change the result"
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        count = distributed.get_world_size()
        if count > 1:
            return (
                f"{count} processes train together and wait for each other in each step; watch a "
                "run with one process"
            )
    schedulers = getattr(sys.modules.get("torch.optim.lr_scheduler"), "OneCycleLR", None)
    known = {id(each) for each in restored}
    if replaces or schedulers is None:
        return ""
    if any(id(each) not in known for each in _instances(schedulers)):
        return (
            "a OneCycleLR raises an error after total_steps, and additional steps would exceed "
            "them; pass restore=(model, optimizer, scheduler)"
        )
    return ""


def pipeline_devices(loader: Any, depth: int = 3) -> set[int]:
    """Return the GPU numbers of the DALI pipelines in a loader; empty if it uses no GPU."""
    found = set()
    for name in _PIPELINE_NAMES if depth else ():
        value = getattr(loader, "__dict__", {}).get(name)
        for each in value if isinstance(value, list | tuple) else [value]:
            device = getattr(each, "device_id", None)
            if isinstance(device, int) and device >= 0:
                found.add(device)
            elif each is not None:
                found |= pipeline_devices(each, depth - 1)
    return found


def gpu_of(device: str) -> Gpu:
    """Return the GPU that a torch device refers to, to query its utilisation."""
    uuid = None
    with suppress(Exception):  # older versions of torch do not report the UUID
        uuid = str(torch_module().cuda.get_device_properties(device).uuid)
    return Gpu(uuid.removeprefix("GPU-") if uuid else first_visible_gpu())


def seconds_to_copy(batch: Any, device: str) -> float | None:
    """Measure the seconds to copy a batch to a GPU. Returns None if no tensor is in host memory."""
    torch = torch_module()
    if torch is None or not device.startswith("cuda"):
        return None
    tensors = [each for each in arrays(batch) if isinstance(each, torch.Tensor)]
    tensors = [each for each in tensors if each.device.type == "cpu"]
    if not tensors:
        return None
    times = []
    for _ in range(_COPIES):
        torch.cuda.synchronize(device)
        began = perf_counter()
        copies = [each.to(device, non_blocking=True) for each in tensors]
        torch.cuda.synchronize(device)
        times.append(perf_counter() - began)
        del copies
    return median(times)


@contextmanager
def waits_for_gpu(counts: Counter[str]) -> Iterator[None]:
    """Context manager that counts, by line of code, the waits for the GPU, such as ``.item()``.

    Uses ``torch.cuda.set_sync_debug_mode``, whose warnings are hidden. Other warnings are shown.
    """
    cuda = torch_module().cuda
    before = cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            cuda.set_sync_debug_mode(before)
    for each in caught:
        if _SYNCHRONISING in str(each.message):
            line = linecache.getline(each.filename, each.lineno).strip()
            counts[f"{Path(each.filename).name}:{each.lineno} {line}".strip()] += 1
        elif "debug mode is a prototype" not in str(each.message):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
