"""What becomes of public pipelines, as they are.

``python -m tests.emit.pipeline_import.public_pipelines FOLDER [--photos PHOTOS]`` reads a folder of
fetched repositories, each as ``owner+name``, and prints a row for each of
``public_pipelines.toml``: what the import makes of it, why it is not exact, and whether the
exported script gives the original's arrays. To compare these a pipeline is made with every call on
the CPU, batches of 4 and a seed where the source has none, and its reader of files reads photos.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from workbench.errors import ImportFailedError

LISTED = Path(__file__).with_suffix(".toml")
BATCHES, BATCH_SIZE, SEED, SECONDS = 3, 4, 7, 60.0


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
    """TOML has no None."""
    if isinstance(value, dict):
        return {name: _given(each) for name, each in value.items()}
    return None if value == "None" else value


def outcome(each: Listed, root: Path) -> tuple[str, list[str]]:
    """``exact``, ``partly`` or ``refused``, and the reasons."""
    import workbench as wb

    try:
        found = wb.from_file(each.file(root), each.pipeline, dict(each.args) or None, SECONDS)
    except ImportFailedError as error:
        return "refused", [str(error).partition("\nIt printed last")[0].replace("\n", " | ")]
    report = found.report
    reasons = [str(entry) for entry in (*report.entries, *report.faults)]
    return ("exact" if report.is_exact and not report.faults else "partly"), reasons


@contextmanager
def _on_the_cpu(photos: Path) -> Iterator[None]:
    """Within it DALI places every call on the CPU, and its readers of files read the photos."""
    from nvidia.dali import ops
    from nvidia.dali.data_node import DataNode
    from nvidia.dali.pipeline import Pipeline

    made = Pipeline.__init__

    def start(pipe: Any, *args: Any, **kwargs: Any) -> None:
        names = ("batch_size", "num_threads", "device_id", "seed")
        given = dict(zip(names, args, strict=False)) | kwargs
        seed = given.get("seed")
        given |= {"batch_size": BATCH_SIZE, "num_threads": 2, "device_id": None}
        given["seed"] = SEED if seed in (None, -1) else seed
        made(pipe, *args[4:], **given)

    def placed(usual: Any, reads: bool) -> Any:
        def start(op: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("device") in ("gpu", "mixed"):
                kwargs["device"] = "cpu"
            if reads:
                for name in ("files", "file_list", "labels"):
                    kwargs.pop(name, None)
                kwargs["file_root"] = str(photos)
            usual(op, *args, **kwargs)

        return start

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "__init__", start)
        patch.setattr(DataNode, "gpu", lambda node: node)
        for module in (ops, *(v for v in vars(ops).values() if type(v).__name__ == "module")):
            if not module.__name__.startswith("nvidia.dali.ops"):
                continue
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and hasattr(value, "schema_name"):
                    reads = value.schema_name in ("readers__File", "FileReader")
                    patch.setattr(getattr(module, name), "__init__", placed(value.__init__, reads))
        yield


def compare(each: Listed, root: Path, photos: Path) -> str:
    """Whether the exported script gives the original's arrays; else why this cannot be told."""
    from tests.helpers import arrays_of, same, script_batches
    from workbench.catalog import load_catalog
    from workbench.emit.pipeline_import.graph import import_traced
    from workbench.engine import scripts

    kept: list[Any] = []
    trace = scripts.trace_pipeline

    def keep(pipe: Any) -> Any:
        kept.append(pipe)
        return trace(pipe)

    with pytest.MonkeyPatch.context() as patch, _on_the_cpu(photos):
        patch.setattr(scripts, "trace_pipeline", keep)
        path, args = str(each.file(root)), dict(each.args)
        traced = scripts.trace_source(cast(Any, _Alone()), path, each.pipeline, args, SECONDS)
        (pipe,) = kept
        pipe.build()
        theirs = [[arrays_of(output) for output in pipe.run()] for _ in range(BATCHES)]
    graph = import_traced(traced, load_catalog()).graph
    graph = replace(graph, settings=replace(graph.settings, device="cpu"))
    with tempfile.TemporaryDirectory() as folder:
        ours = script_batches(graph, photos, BATCHES, Path(folder))
    equal = all(
        len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(ours, theirs, strict=True)
    )
    return "same" if equal else "DIFFERENT"


class _Alone:
    """In a worker's place: what it would answer with ends this process."""

    def reply_error(self, error: ImportFailedError) -> None:
        print(f"no: {error}", flush=True)


def _compared(number: int, root: Path, photos: Path) -> str:
    """In a process of its own: a script may do what it likes, and DALI may end it."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else "", str(root), "--photos"]
    with tempfile.TemporaryFile("w+") as said:  # a sandbox cuts its output short: no pipe can be
        done = subprocess.run(
            [*command, str(photos), "--one", str(number)],
            stdout=said, stderr=subprocess.STDOUT, timeout=4 * SECONDS, check=False,
        )  # fmt: skip
        said.seek(0)
        words = ("same", "DIFF", "no:")
        lines = [line.strip() for line in said if line.startswith(words)]
    return lines[-1] if lines else f"no: it ended with {done.returncode}"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder of fetched repositories")
    parser.add_argument("--photos", type=Path, help="compare arrays, on these photos")
    parser.add_argument("--only", default="", help="those whose row holds this text")
    parser.add_argument("--one", type=int, help="this one alone, in this process")
    given = parser.parse_args()
    pipelines = listed()
    if given.one is not None:
        try:
            print(compare(pipelines[given.one], given.root.absolute(), given.photos.absolute()))
        except Exception as error:
            print("no:", " ".join(str(error).split())[:200])
        return
    counts: Counter[str] = Counter()
    for number, each in enumerate(pipelines):
        if given.only not in str(each) or not each.file(given.root).exists():
            continue
        what, reasons = outcome(each, given.root)
        pixels = ""
        if given.photos and what != "refused":
            pixels = _compared(number, given.root, given.photos)
        counts.update([what, *([f"pixels {pixels.partition(':')[0]}"] if pixels else [])])
        print(f"{what:8} {pixels:24.60} {each}", flush=True)
        for reason in reasons:
            print(f"         {reason[:300]}", flush=True)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
