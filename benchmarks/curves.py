"""Measure imgs/s over the size of the files and over the batch size, of DALI and other libraries.

    python -m benchmarks.curves OUT TAG [RECIPE]       # rotate-jitter by default; at most 6 minutes
    python -m benchmarks.curves OUT TAG RECIPE --plot  # draw the stored record again

Writes ``OUT/curves-RECIPE-TAG.json`` and ``OUT/plots/curves-RECIPE-TAG.svg``. At each point, the
exported script, the script after ``REWRITES`` and the exported modules of the installed libraries
are measured in interleaved rounds, with one thread or worker process per core. The record also has
the bytes that a batch copies to a GPU.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from PIL import Image

import workbench as wb
from benchmarks.photos import SIZE, make_photos
from workbench.bench.experiments.peer_jobs import ExportedJob, exported_module
from workbench.bench.experiments.peers import PEERS
from workbench.bench.experiments.speed_experiment import InterleavedExperiment
from workbench.bench.measuring.config import config_of
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement_config import config_within
from workbench.bench.measuring.transfer import copied_bytes
from workbench.engine.resources.machine import describe_machine
from workbench.errors import EngineError, GraphError
from workbench.figures import new_figure, render_figure
from workbench.graph import Graph
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import DecodeDevice
from workbench.graph.rewrites import rewritten

REWRITES = (
    "resize-into-warp", "border-before-warp", "floats-after-warp", "twist-into-brightness-contrast"
)  # fmt: skip
SIZES = ((250, 188), SIZE, (1000, 750), (2000, 1500))
BATCHES = (8, 16, 32, 64, 128)
FILES = 256
BATCH = 64
"""Batch size at which the sizes of the files are compared."""


class CurvePoint(InterleavedExperiment):
    """Measure DALI and the exported modules of other libraries with one batch size."""

    def entries(self) -> list[ConfigJobs]:
        config = config_of(self.graph, "cpu")
        faster = rewritten(self.resolved, REWRITES)
        found = [self.entry(config, "DALI")]
        if faster != self.graph:
            found.append(self.entry(config, "DALI, with rewrites", faster))
        for peer in PEERS.values():
            if peer.missing:
                continue
            try:
                module = exported_module(self.resolved, peer.target, config)
            except (EngineError, GraphError) as error:
                print(f"{peer.name}: {error}", flush=True)
                continue
            job = ExportedJob(module, self.data, config.batch_size, config.threads)
            theirs = replace(config, program=peer.name)
            found.append(ConfigJobs(theirs, (job,), peer.name, decodes=False))
        return found


def point(graph: Graph, photos: Path, size: tuple[int, int], batch: int) -> list[dict[str, Any]]:
    """Return a row for each program."""
    cores = describe_machine().cores
    sized = set_setting(graph, batch_size=batch, num_threads=cores, device="cpu")
    run = CurvePoint(sized, str(photos), measurement_config=config_within(10.0))
    report = run.run()
    devices: tuple[DecodeDevice, ...] = ("cpu", "mixed")
    mean = run.prepared.fingerprint.mean_size
    copied = {device: copied_bytes(run.resolved, device, mean) for device in devices}
    rows = []
    for row in report.measurements:
        words = row.reason or row.rate_text
        print(f"{size[0]}x{size[1]}, batch {batch}, {row.label}: {words}", flush=True)
        rows.append(
            {
                "width": size[0],
                "height": size[1],
                "batch": batch,
                "program": row.label,
                "imgs_per_s": asdict(row.interval) if row.interval else None,
                "rounds": list(row.imgs_per_s),
                "flags": list(row.flags),
                "reason": row.reason,
                "copied_bytes": copied,
            }
        )
    return rows


def resized(photos: Path, folder: Path, size: tuple[int, int]) -> Path:
    """Write the photos once more in another size."""
    for path in photos.rglob("*.jpg"):
        target = folder / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            image.resize(size, Image.Resampling.BICUBIC).save(target, quality=90)
    return folder


def measure(graph: Graph) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        photos = make_photos(Path(folder) / "photos", FILES)
        for batch in BATCHES:
            rows += point(graph, photos, SIZE, batch)
        for size in SIZES:
            if size != SIZE:
                other = resized(photos, Path(folder) / f"{size[0]}", size)
                rows += point(graph, other, size, BATCH)
    machine = asdict(describe_machine())
    command = f"python -m benchmarks.curves OUT TAG {graph.name}"
    return {"command": command, "graph": graph.name, "machine": machine, "rows": rows}


def plot(record: dict[str, Any], path: Path) -> None:
    """Draw imgs/s over the batch size and over the pixels of the files."""
    figure = new_figure(height=3.4, width=9.0)
    left, right = figure.subplots(1, 2, sharey=False)
    rows = [row for row in record["rows"] if row["imgs_per_s"]]
    draw(left, [row for row in rows if row["width"] == SIZE[0]], "batch", "batch size")
    draw(
        right,
        [row for row in rows if row["batch"] == BATCH],
        "width",
        "width of the files in pixels (4:3)",
    )
    left.set_ylabel("imgs/s")
    right.legend(frameon=False, fontsize=8)
    machine = record["machine"]
    figure.suptitle(f"{record['graph']}, {machine['cores']} cores of {machine['cpu']}", fontsize=9)
    path.write_bytes(render_figure(figure, "svg"))


def draw(axes: Any, rows: Sequence[dict[str, Any]], over: str, label: str) -> None:
    by_program: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row[over]):
        by_program.setdefault(row["program"], []).append(row)
    for name, line in by_program.items():
        found = [row["imgs_per_s"] for row in line]
        spread = [
            [one["median"] - one["low"] for one in found],
            [one["high"] - one["median"] for one in found],
        ]
        medians = [one["median"] for one in found]
        places = [row[over] for row in line]
        axes.errorbar(places, medians, spread, marker="o", capsize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted({row[over] for row in rows}))
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(labelsize=8)


if __name__ == "__main__":
    out, tag = Path(sys.argv[1]), sys.argv[2]
    name = sys.argv[3] if len(sys.argv) > 3 else "rotate-jitter"
    target = out / f"curves-{name}-{tag}.json"
    if "--plot" not in sys.argv:
        text = json.dumps(measure(wb.load_recipe(name)), indent=1)
        target.write_text(text + "\n", encoding="utf-8")
    (out / "plots").mkdir(exist_ok=True)
    plot(json.loads(target.read_text("utf-8")), out / "plots" / f"{target.stem}.svg")
