"""Convert the samplers and weights that ``workbench.read`` accepts to options of a reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from workbench.arguments import format_value, warn_caller
from workbench.errors import ArgumentError, DataError
from workbench.names import did_you_mean
from workbench.sources import SAMPLER_OPTIONS, Dataset, class_names, list_samples, load_source

_MOST_STORED = 100_000
"""Maximum number of indices or weights that are stored in a graph."""
_EPOCHS = 8
"""Number of recorded epochs of a sampler whose order changes."""


def sampler_options(dataset: Dataset, sampler: Any, weights: Any) -> dict[str, Any]:
    """Return the reader options for a sampler and weights.

    ``sampler`` is a name, or a PyTorch object that yields sample indices. ``weights`` maps class
    names or numbers to weights, or has one weight per class or per sample. Raises DataError if the
    indices or weights do not fit the data.
    """
    found: dict[str, Any] = {}
    if sampler is None and weights is None:
        return found
    kind = load_source(dataset.kind)
    kind.with_sampler()  # raises DataError for data without random access
    samples = [sample for sample in list_samples(dataset) if sample.counted]
    if kind.targets == "masks":  # its reader skips images without a mask
        samples = [sample for sample in samples if sample.mask]
    labels = [sample.label for sample in samples]
    classes = max((*labels, len(class_names(dataset)) - 1 if -1 in labels else -1)) + 1
    if weights is not None and -1 in labels and not classes:
        labels = [sample.with_location().label for sample in samples]  # in memory: not read yet
        classes = max(labels) + 1
    if isinstance(sampler, str):
        found["sampler"] = sampler
    elif sampler is not None:
        found |= _converted(sampler, len(labels))
    if weights is not None:
        if kind.targets and isinstance(weights, Mapping):
            raise DataError(
                f"weights: samples of {dataset} ({kind.about}) do not have one class each. Pass "
                "one weight per sample."
            )
        found |= _weight_options(dataset, weights, labels, 0 if kind.targets else classes)
    if kind.op == "readers.coco" and {"indices", "sample_weights"} & found.keys():
        _warn_of_order(dataset)
    own = found.get("sample_weights", ())
    if len(own) > _MOST_STORED and (shared := _weights_by_class(own, labels, classes)):
        found["weights"] = shared
        del found["sample_weights"]
    for name in SAMPLER_OPTIONS:
        if isinstance(value := found.get(name), list) and len(value) > _MOST_STORED:
            raise DataError(
                f"{name} has {len(value):,} values, and a graph stores at most {_MOST_STORED:,}. "
                "Use class weights, or a list of fewer files."
            )
    return found


def _warn_of_order(dataset: Dataset) -> None:
    """Warn if DALI does not read the images of a COCO file in the order of the file."""
    kind: Any = load_source(dataset.kind)  # YOLO and VOC are read as COCO, in order
    document = kind.document(dataset)
    ids = [image.get("id", 0) for image in document["images"]]
    if ids != sorted(ids):
        warn_caller(
            f"The images in {dataset} are not in the order of their ids. Weights and indices of "
            "samples refer to images in the order of their ids, as in DALI and torchvision."
        )


def _weight_options(
    dataset: Dataset, weights: Any, labels: list[int], classes: int
) -> dict[str, list[float]]:
    if isinstance(weights, Mapping):
        names = class_names(dataset)
        numbers = {**{str(n): n for n in range(classes)}, **{n: i for i, n in enumerate(names)}}
        by_class = [1.0] * max(classes, len(names))
        for name, weight in weights.items():
            if str(name) not in numbers:
                known = names or [*numbers]
                hint = did_you_mean(str(name), known, f"There are {', '.join(known[:10])}.")
                raise DataError(f"weights: {dataset} has no class {name!r}. {hint}")
            if str(name) in names and isinstance(name, int) and name != numbers[str(name)]:
                raise DataError(
                    f"weights: {name} is the name of class {numbers[str(name)]} of {dataset}, and "
                    f"could be the number of another. Use the name: {str(name)!r}."
                )
            by_class[numbers[str(name)]] = float(weight)
        return {"weights": by_class[:classes]}
    found = np.asarray(weights, float).tolist()
    if isinstance(found, list) and len(found) == classes:
        if classes == len(labels) and labels != [*range(classes)]:
            raise DataError(
                f"weights has {classes} values, which could be one per class or one per sample of "
                f"{dataset}. Pass a dict by class, or sample_weights=."
            )
        return {"weights": found}
    if isinstance(found, list) and len(found) == len(labels):
        return {"sample_weights": found}
    size = len(found) if isinstance(found, list) else 1
    raise DataError(
        f"weights has {size:,} values, but {dataset} has {classes:,} classes and "
        f"{len(labels):,} samples. Pass one weight per class or per sample."
    )


def _weights_by_class(weights: list[float], labels: list[int], classes: int) -> list[float]:
    """Return the weight of each class if all its samples have the same, else an empty list."""
    by_class = dict(zip(labels, weights, strict=True))
    if -1 in by_class or [*map(by_class.get, labels)] != weights:
        return []
    return [by_class.get(label, 1.0) for label in range(classes)]


def _converted(sampler: Any, count: int) -> dict[str, Any]:
    """Return options equivalent to a sampler of PyTorch or timm. Record the indices of others."""
    if not hasattr(sampler, "__iter__"):
        raise ArgumentError(
            f"sampler is {format_value(sampler)}. Use 'balanced', 'random' or 'sequential', or an "
            "object that yields sample indices."
        )
    kind = type(sampler).__name__
    shuffled = "random" if getattr(sampler, "shuffle", True) else "sequential"
    replicas = getattr(sampler, "num_replicas", 1)
    library = type(sampler).__module__.partition(".")[0]
    sampled = getattr(sampler, "data_source", getattr(sampler, "dataset", None))
    known = library in ("torch", "timm")  # other classes may sample differently
    known = known and (sampled is None or len(sampled) == count)
    match kind if known else "":
        case "SequentialSampler":
            return {"sampler": "sequential"}
        case "RandomSampler":
            replaced = {"replacement": True} if sampler.replacement else {}
            size = {} if len(sampler) == count else {"num_samples": len(sampler)}
            return {"sampler": "random", **replaced, **size}
        case "WeightedRandomSampler" if len(sampler.weights) == count:
            size = {} if len(sampler) == count else {"num_samples": len(sampler)}
            replaced = {} if sampler.replacement else {"replacement": False}
            return {"sample_weights": [*map(float, sampler.weights)], **replaced, **size}
        case "SubsetRandomSampler":
            return {"sampler": "random", "indices": _checked(iter(sampler.indices), count)}
        case "DistributedSampler":
            if replicas > 1:
                warn_caller("The loader assigns a shard to each rank, not the DistributedSampler.")
            return {"sampler": shuffled}
        case "RepeatAugSampler" if hasattr(sampler, "num_selected_samples"):
            if replicas > 1:
                warn_caller("The loader assigns a shard to each rank, not the RepeatAugSampler.")
            size = {"num_samples": int(sampler.num_selected_samples) * replicas}
            return {"sampler": shuffled, "repeats": int(sampler.num_repeats), **size}
    return _recorded(sampler, count)


def _recorded(sampler: Any, count: int) -> dict[str, Any]:
    """Return options with a sampler's indices. Record several epochs if the order changes."""
    epochs: list[list[int]] = []
    for number in range(_EPOCHS):
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(number)
        epochs.append(_checked(iter(sampler), count))
        if len(epochs[-1]) != len(epochs[0]):
            raise DataError(
                f"sampler yields {len(epochs[0]):,} indices in one epoch and {len(epochs[-1]):,} "
                "in another. Use a sampler whose epochs have the same length."
            )
        if number == 1 and epochs[0] == epochs[1]:
            return {"sampler": "sequential", "indices": epochs[0]}
        if len(epochs) * len(epochs[0]) > _MOST_STORED - len(epochs[0]):
            break
    kind = type(sampler).__name__
    warn_caller(
        f"{kind} changes its order: {len(epochs)} epochs of it are recorded, and then they repeat."
    )
    size = len(epochs[0])
    return {"sampler": "sequential", "indices": [*chain(*epochs)], "num_samples": size}


def _checked(indices: Iterator[Any], count: int) -> list[int]:
    """Return the indices of one epoch. Raises DataError if an index is not that of a sample."""
    found: list[int] = []
    for index in islice(indices, _MOST_STORED + 1):
        at = f"sampler yields {index!r} at position {len(found):,}"
        if isinstance(index, list | tuple):
            raise DataError(f"{at}. Use a sampler of indices, and set the batch size of the graph.")
        if not hasattr(index, "__index__") or not 0 <= int(index) < count:
            raise DataError(f"{at}, but the samples are 0 to {count - 1:,}. Use these.")
        found.append(int(index))
    if not found:
        raise DataError("sampler yields no index. Use at least one sample.")
    if len(found) > _MOST_STORED:
        raise DataError(
            f"sampler yields more than {_MOST_STORED:,} indices, which a graph cannot store. Use "
            "'random', 'balanced' or class weights."
        )
    return found
