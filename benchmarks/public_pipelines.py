"""Import public pipelines, unchanged.

``python -m benchmarks.public_pipelines FOLDER [--compare]`` reads a folder of
fetched repositories, each as ``owner+name``, and prints a row for each of
``public_pipelines.toml``: the result of the import, why it is not exact, and whether the exported
script produces the original's arrays. The last lines count the pipelines that are exact without
any argument: a row with ``args`` is also read without these. A busy machine may take longer than
the time limit, which reads "the process ended with 256": read such rows again, by ``--only``.

To compare arrays a pipeline is made with every call on the CPU, batches of 4 and a seed where the
source has none, and its reader of files reads photos.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import tempfile
import tomllib
import wave
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from tests.helpers import arrays_of, built, import_script, same
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.emit.pipeline_import.calls.older_names import current_name
from workbench.emit.pipeline_import.graph import import_traced
from workbench.engine.script_import import scripts
from workbench.errors import ImportFailedError
from workbench.graph import Graph
from workbench.graph.user_functions.trust import trust_graph
from workbench.samples import write_samples
from workbench.sources import list_samples, open_dataset
from workbench.sources.kinds.records._record_index import index_of
from workbench.sources.kinds.records.record_io import scan_record_file
from workbench.sources.kinds.records.tfrecord import scan_records

LISTED = Path(__file__).with_suffix(".toml")
PHOTOS = Path(tempfile.gettempdir(), "public_pipelines_photos")
TARGETS = PHOTOS.with_name(f"{PHOTOS.name}_targets")
ARRAYS = {"photos": "numpy", "audio": "numpy", "volumes": "volumes/images"}
"""By the kind of data that a script reads, the folder of its arrays."""
NO_NUMBERS = (
    *("initial_fill", "additional_decode_surfaces", "skip_vfr_check", "channels", "lazy_init"),
    *("normalized", "image_type", "dtype", "device", "file_list"),
)
"""Options of the reader of videos on the GPU that the one on the CPU lacks."""
BATCHES, BATCH_SIZE, SEED, SECONDS = 3, 4, 7, 120.0


@dataclass(frozen=True)
class Listed:
    """A pipeline of a public repository."""

    repository: str
    path: str
    pipeline: str | None
    args: Mapping[str, Any]

    def file(self, root: Path) -> Path:
        return root / self.repository.replace("/", "+") / self.path

    def __str__(self) -> str:
        return f"{self.repository} {self.path}" + (f" {self.pipeline}" if self.pipeline else "")


def listed() -> list[Listed]:
    rows = tomllib.loads(LISTED.read_text())["pipelines"]
    return [
        Listed(row["repository"], row["path"], row.get("pipeline"), _given(row.get("args", {})))
        for row in rows
    ]


def _given(value: Any) -> Any:
    """TOML has no None; ``$photos`` is the folder of photos."""
    if isinstance(value, dict):
        return {name: _given(each) for name, each in value.items()}
    return {"None": None, "$photos": str(PHOTOS)}.get(value, value) if type(value) is str else value


def outcome(each: Listed, root: Path) -> tuple[str, list[str], dict[str, str]]:
    """``exact``, ``partly`` or ``refused``, the reasons, and what was assumed."""
    try:
        traced = _traced(each, root)
    except ImportFailedError as error:
        return "refused", [str(error).partition("\nIt printed last")[0].replace("\n", " | ")], {}
    report = import_traced(traced, load_catalog()).report
    reasons = [str(entry) for entry in (*report.entries, *report.faults)]
    exact = report.is_exact and not report.faults
    return ("exact" if exact else "partly"), reasons, dict(report.assumed)


def _kind_of_data(text: str) -> str:
    """What a script reads: folders of images, of sound, or of volumes as arrays."""
    if "audio" in text.lower() and "decoder" in text.lower():
        return "audio"
    return "volumes" if "DHW" in text else "photos"


def _write_sounds(folder: Path) -> None:
    """Sweeps of one channel, 16 kHz, a second or two long."""
    for number in range(2 * BATCH_SIZE):
        at = np.arange(16_000 + 2_000 * number) / 16_000
        wave_form = (np.sin(2 * np.pi * (200 + 300 * at) * at) * 20_000).astype("<i2")
        path = folder / f"class_{number % 2}" / f"sweep_{number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 16_000, len(wave_form), "NONE", ""))
            file.writeframes(wave_form.tobytes())


def _samples(targets: Path, kind: str) -> dict[str, dict[str, Any]]:
    """By a reader's registry name, what it reads in the place of what the source names."""
    index = targets / "index"
    index.mkdir(exist_ok=True)
    record = next((targets / "tfrecord").glob("*.tfrecord"))
    placed = index / f"{record.name}.idx"
    if not placed.exists():
        placed.write_text("".join(f"{at} {size}\n" for at, size in scan_records(str(record))))
    audio, arrays = targets / "audio", targets / ARRAYS[kind]
    if not audio.exists():
        _write_sounds(audio)
    return {
        "readers__File": {"file_root": str(audio if kind == "audio" else PHOTOS)},
        "readers__Video": {"file_root": str(targets / "video")},
        "readers__TFRecord": {"path": [str(record)], "index_path": [str(placed)]},
        "readers__Caffe": {"path": str(targets / "caffe")},
        "readers__Caffe2": {"path": str(targets / "caffe2")},
        "readers__MXNet": {
            "path": [str(each) for each in targets.rglob("*.rec")],
            "index_path": [
                index_of(str(each), scan_record_file) for each in targets.rglob("*.rec")
            ],
        },
        "readers__COCO": {
            "file_root": str(targets / "coco" / "images"),
            "annotations_file": str(targets / "coco" / "annotations.json"),
        },
        "readers__Numpy": {"files": [str(each) for each in sorted(arrays.iterdir())]},
    }


def _traced(each: Listed, root: Path) -> Any:
    path, args = str(each.file(root)), dict(each.args)
    return scripts.trace_source(cast(Any, _Alone()), path, each.pipeline, args, SECONDS)


@contextmanager
def _on_the_cpu(kind: str) -> Iterator[None]:
    """Within it DALI places every call on the CPU, and its readers of files read the samples."""
    from nvidia.dali import fn, ops
    from nvidia.dali.data_node import DataNode
    from nvidia.dali.pipeline import Pipeline

    made: Any = Pipeline.__init__
    names = list(signature(made).parameters)[1:]

    def start(pipe: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(names, args, strict=False)) | kwargs
        seed = given.get("seed")
        given |= {"batch_size": BATCH_SIZE, "num_threads": 2, "device_id": None}
        given["seed"] = SEED if seed in (None, -1) else seed
        made(pipe, **given)

    start.__signature__ = signature(made)  # type: ignore[attr-defined]

    def placed(usual: Any, reads: Mapping[str, Any]) -> Any:
        def start(op: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("device") in ("gpu", "mixed", "support"):
                kwargs["device"] = "cpu"
            if reads:
                for name in ("files", "file_list", "labels", "file_root", "filenames"):
                    kwargs.pop(name, None)
            usual(op, *args, **{**kwargs, **reads})

        return start

    samples = _samples(TARGETS, kind)

    def video(*_: Any, **given: Any) -> Any:
        """Video readers that are imported in the same way."""
        kept = {name: value for name, value in given.items() if name not in NO_NUMBERS}
        reads = samples["readers__Video"]
        if "filenames" in kept:
            reads = {"filenames": sorted(map(str, Path(reads["file_root"]).rglob("*.avi")))}
        return fn.experimental.readers.video(**{**kept, **reads})

    def video_reader(**given: Any) -> Any:
        return lambda **named: video(**given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "__init__", start)
        patch.setattr(DataNode, "gpu", lambda node: node)
        patch.setattr(fn.readers, "video", video)
        patch.setattr(ops, "VideoReader", video_reader)
        patch.setattr(ops.readers, "Video", video_reader)
        fed = ops.ExternalSource.__init__
        patch.setattr(ops.ExternalSource, "__init__", placed(fed, {}))
        for module in _modules(ops):
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and hasattr(value, "schema_name"):
                    reads = samples.get(current_name(value.schema_name), {})
                    patch.setattr(getattr(module, name), "__init__", placed(value.__init__, reads))
        yield


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """A module of operators and those in it."""
    yield module
    for value in vars(module).values():
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{module.__name__}."):
            yield from _modules(value)


def compare(each: Listed, root: Path) -> str:
    """Whether the exported script outputs the original's arrays; else why this is unknown."""
    kept: list[Any] = []
    trace = scripts.trace_pipeline

    def keep(pipe: Any) -> Any:
        kept.append(pipe)
        return trace(pipe)

    text = each.file(root).read_text("utf-8", "replace")
    kind = _kind_of_data(text)
    with pytest.MonkeyPatch.context() as patch, _on_the_cpu(kind):
        patch.setattr(scripts, "trace_pipeline", keep)
        traced = _traced(each, root)
        if traced.automatic or "numba" in text:  # what is noted does nothing: made again, it does
            patch.setattr(scripts, "noted_calls", lambda: nullcontext({}))
            patch.setattr(scripts, "noted_numba_functions", nullcontext)
            kept.clear()
            _traced(each, root)
        pipe = kept[0]  # pipelines that the script ran before it was stopped are traced after it
        pipe._api_type = None  # an iterator may have had it
        patch.setattr(type(pipe), "__bool__", lambda _: True, raising=False)  # a __len__ may run it
        pipe.build()
        theirs = _batches(pipe)
    found = import_traced(traced, load_catalog())
    graph = found.graph
    graph = trust_graph(replace(graph, settings=replace(graph.settings, device="cpu")))
    with tempfile.TemporaryDirectory() as folder:
        script = import_script(emit_script(graph, load_catalog()).text, Path(folder))
        ours = _batches(built(script, _data_of(graph, kind)))
    equal = all(
        len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(ours, theirs, strict=True)
    )
    told = any("draws differ" in entry.why for entry in found.report.changed)
    return "same" if equal else "draws as told" if told else "DIFFERENT"


def _batches(pipe: Any) -> list[list[Any]]:
    """Batch -> output -> samples. External inputs get photos in order."""
    files = [str(sample[0]) for sample in list_samples(open_dataset(str(PHOTOS)))]
    inputs = [
        op.name
        for op in pipe._ops
        if op._op.schema.Name() == "ExternalSource" and getattr(op, "_callback", None) is None
    ]
    for number in range(2 * BATCHES if inputs else 0):  # DALI runs some ahead
        first = number * BATCH_SIZE
        batch = [files[n % len(files)] for n in range(first, first + BATCH_SIZE)]
        for name in inputs:
            pipe.feed_input(name, [np.fromfile(path, dtype=np.uint8) for path in batch])
    return [[arrays_of(output) for output in pipe.run()] for _ in range(BATCHES)]


def _data_of(graph: Graph, kind: str) -> Path:
    """The data of the exported script: those that the original reads."""
    kinds = {each.kind for each in graph.sources}
    folders = {
        **{"tfrecord": "tfrecord", "numpy_files": ARRAYS[kind], "record_io": "recordio"},
        **{"video": "video", **({"folder": "audio"} if kind == "audio" else {})},
    }
    found = {each: TARGETS / name for each, name in folders.items()}
    return next((found[each] for each in kinds if each in found), PHOTOS)


class _Alone:
    """A stand-in for a worker whose result is not awaited."""

    def reply_error(self, error: ImportFailedError) -> None:
        print(error, flush=True)


def in_child(function: Callable[[Listed, Path], Any], each: Listed, root: Path) -> Any:
    """The result of a function in a forked process, which has all modules already.

    A script may do what it likes but write elsewhere, and DALI may end the process.
    """
    with (
        tempfile.TemporaryFile("w+") as said,
        tempfile.TemporaryFile("w+") as answer,
        tempfile.TemporaryDirectory() as own,
    ):
        child = os.fork()
        if child == 0:
            signal.alarm(int(2 * SECONDS))
            os.environ["TMPDIR"] = tempfile.tempdir = own
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            try:
                found = function(each, root)
            except BaseException as error:
                said = " ".join(str(error).split())
                found = f"no: {type(error).__name__}: {said.rpartition('encountered: ')[2][:600]}"
            answer.write(json.dumps(found))
            answer.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        text = answer.read()
    return json.loads(text) if text else f"no: the process ended with {status}"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder of fetched repositories")
    parser.add_argument("--compare", action="store_true", help="compare arrays, on sample photos")
    parser.add_argument("--only", default="", help="those whose row holds this text")
    given = parser.parse_args()
    root = given.root.absolute()
    for folder, targets in ((PHOTOS, False), (TARGETS, True)):
        if not folder.exists():
            write_samples(folder, annotations=targets)
    for module in ("torch", "cv2", "matplotlib.pyplot", "nvidia.dali.plugin.pytorch"):
        with suppress(ImportError):
            importlib.import_module(module)
    counts: Counter[str] = Counter()
    for each in listed():
        if given.only not in str(each) or not each.file(root).exists():
            continue
        found = in_child(outcome, each, root)
        what, reasons, _ = ("refused", [found], {}) if isinstance(found, str) else found
        pixels = in_child(compare, each, root) if given.compare and what != "refused" else ""
        bare = in_child(outcome, replace(each, args={}), root) if each.args else found
        alone, why, assumed = ("refused", [bare], {}) if isinstance(bare, str) else bare
        counts[f"as it is: {alone}"] += 1
        counts.update([what, *([f"pixels {pixels.partition(':')[0]}"] if pixels else [])])
        print(f"{what:8} {pixels:24.500} {each}", flush=True)
        for reason in reasons:
            print(f"         {reason[:300]}", flush=True)
        if each.args:
            said = f": {why[0][:300]}" if why else ""
            print(f"         with nothing given {alone}{said}", flush=True)
        if told := ", ".join(f"{name}={value}" for name, value in assumed.items()):
            print(f"         assumed {told}", flush=True)
    of_all = sum(count for name, count in counts.items() if name.startswith("as it is"))
    print(f"{counts['as it is: exact']} of {of_all} open exactly with nothing given")
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
