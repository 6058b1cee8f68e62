"""Recognise the library that a loader comes from."""

from __future__ import annotations

from typing import Any

_MODULES = {
    "workbench.engine.build.in_process_loader": ("workbench",),
    "nvidia.dali": ("dali",),
    "torch.utils.data": ("torch",),
    "torchdata": ("torch",),
    "tensorflow": ("tf",),
}
"""Kinds of a loader, by prefix of the module that defines its class."""
_MOST_WRAPPERS = 3


def kinds_of_loader(loader: Any) -> tuple[str, ...]:
    """Return the kinds of a loader, the most specific first; the last one is ``any``.

    The kinds are ``torch`` (a DataLoader), ``torch stream`` (of an IterableDataset), ``torch
    distributed`` (with a DistributedSampler that shuffles), ``torch workers`` (with
    ``num_workers``), ``dali``, ``workbench`` and ``tf``. A wrapper that stores its loader as the
    attribute ``loader`` has the kinds of that loader.
    """
    for _ in range(_MOST_WRAPPERS):
        modules = [each.__module__ for each in type(loader).__mro__]
        for prefix, kinds in _MODULES.items():
            if any(each.startswith(prefix) for each in modules):
                return (*(_kinds_of_torch(loader) if kinds == ("torch",) else kinds), "any")
        loader = getattr(loader, "loader", None)
    return ("any",)


def _kinds_of_torch(loader: Any) -> tuple[str, ...]:
    dataset = type(getattr(loader, "dataset", None)).__mro__
    sampler = getattr(loader, "sampler", None)
    has = {
        "torch workers": bool(getattr(loader, "num_workers", 0)),
        "torch stream": any(each.__name__ == "IterableDataset" for each in dataset),
        "torch distributed": type(sampler).__name__ == "DistributedSampler"
        and getattr(sampler, "shuffle", False),
        "torch": True,
    }
    return tuple(kind for kind, found in has.items() if found)
