"""Describe problems with the devices, waits, batches and loader of a watched loop."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from workbench.training.loader_kinds import kinds_of_loader
from workbench.training.watch import environment
from workbench.training.watch.recorder import Recorder
from workbench.training.watch.verdict import LoopTimes, duration_text

_MOST_LINES = 5
_SLOW_COPY = 0.05
"""Copying a batch is reported if it takes at least this fraction of a step."""
_WAITS = 0.02
"""Waiting for the loader matters if it takes at least this fraction of a step."""
_ASYNCHRONOUS = ("jax", "tensorflow")


def find_problems(
    recorder: Recorder, loader: Any, batch: Any, times: LoopTimes | None
) -> tuple[list[str], float | None]:
    """Return sentences about problems, and the seconds to copy ``batch`` to the model's GPU."""
    copied = None
    if batch is not None and recorder.device:
        copied = environment.seconds_to_copy(batch, recorder.device)
    found = [
        *_batch_sentences(recorder),
        *_device_sentences(recorder, loader),
        *_wait_sentences(recorder),
    ]
    if times is None or times.wait > _WAITS * times.total.value:
        found += _loader_sentences(loader, recorder.device)
    if times is not None and times.limit in ("loader", "both"):
        found.append(_faster_loader(loader))
    if times is not None and copied is not None and copied > _SLOW_COPY * times.step.value:
        found.append(
            f"Copying a batch to {recorder.device} takes {duration_text(copied)}, "
            f"{copied / times.step.value:.0%} of the step. It was measured apart from the loop."
        )
    library = next((name for name in _ASYNCHRONOUS if name in sys.modules), "")
    if library and not recorder.device and Path("/dev/nvidia0").exists():
        found.append(
            f"Not measured: the time of the GPU, because {library} has no events. The times are "
            "those of the host, where a step may end before the GPU has finished."
        )
    if recorder.models and recorder.count and not environment.is_finite(recorder.models):
        found.append(
            "The model has parameters that are NaN or infinite. The times are those of a model "
            "that no longer learns."
        )
    return found, copied


def _batch_sentences(recorder: Recorder) -> list[str]:
    found = []
    sizes = recorder.sizes
    rare = sum(sizes.values()) - max(sizes.values(), default=0)
    if rare > 0.1 * sum(sizes.values()):
        found.append(
            f"The batches have {min(sizes)} to {max(sizes)} samples. The ceiling is that of a "
            f"batch of {sizes.most_common(1)[0][0]}."
        )
    if len(recorder.kinds) > 1:
        found.append(
            f"The batches are of {len(recorder.kinds)} kinds, which differ in types or dimensions. "
            "The ceiling is that of one of them."
        )
    return found


def _device_sentences(recorder: Recorder, loader: Any) -> list[str]:
    models = environment.devices_of_models(recorder.models)
    if not models:
        return []
    found = []
    gpus = sorted(each for each in recorder.devices if each != "cpu")
    strange = [each for each in gpus if each not in models]
    if strange:
        found.append(
            f"The batches are on {', '.join(strange)}, but the model is on {', '.join(models)}. "
            "Each step copies them: create the loader for the device of the model."
        )
    numbers = {each.partition(":")[2] or "0" for each in models if each.startswith("cuda")}
    others = {n for n in environment.pipeline_devices(loader) if str(n) not in numbers}
    if numbers and others and not strange:
        found.append(
            f"The pipeline runs on GPU {', '.join(map(str, sorted(others)))}, but the model is on "
            f"{', '.join(models)}. Pass device_id={min(numbers)} to the pipeline."
        )
    return found


def _wait_sentences(recorder: Recorder) -> list[str]:
    lines = recorder.waits.most_common(_MOST_LINES)
    if not lines:
        return []
    return [
        "Lines that wait for the GPU, so that it cannot work ahead: "
        f"{'; '.join(line for line, _ in lines)}. Move .item(), .cpu() and printing to every "
        "hundredth step, and copy batches with pin_memory and non_blocking=True."
    ]


_FASTER = {
    "workbench": "To make the loader faster, call report.measure_fix(): it measures mixed decoding "
    "and other settings.",
    "dali": "To make the loader faster, import its pipeline with wb.from_file, and find better "
    "settings with tune() of wb.Workbench.",
    "tf": "To make the loader faster, pass num_parallel_calls=tf.data.AUTOTUNE to map, and end "
    "with prefetch(tf.data.AUTOTUNE).",
    "any": "To make the loop faster, prepare the batches in threads or processes that work ahead, "
    "as wb.loader and a DataLoader with num_workers do.",
}
"""Recommendations if the loader is the limit, by kind of loader."""


def _faster_loader(loader: Any) -> str:
    """Return a sentence that recommends how to make the loader faster."""
    kinds = kinds_of_loader(loader)
    if "torch" not in kinds:
        return next(_FASTER[kind] for kind in kinds if kind in _FASTER)
    cores, workers = len(os.sched_getaffinity(0)), getattr(loader, "num_workers", 0)
    if workers < cores:
        return (
            f"To make the loader faster, pass a larger num_workers: it is {workers}, and the "
            f"process may use {cores} CPU cores."
        )
    return (
        f"More workers will hardly help: num_workers is {workers}, and the process may use "
        f"{cores} CPU cores. Use cheaper transforms, smaller images, or decoding on a GPU."
    )


def _loader_sentences(loader: Any, device: str) -> list[str]:
    if getattr(loader, "num_workers", None) == 0:
        return [
            "The loader has num_workers=0: it prepares batches in the same thread as the loop, so "
            "waiting and steps add up."
        ]
    if device and getattr(loader, "pin_memory", None) is False:
        return [
            "The loader has pin_memory=False, so that copies to the GPU wait for it. Pass "
            "pin_memory=True, and copy with non_blocking=True."
        ]
    return []
