"""Compare the speed of rendering a version with that of the pipeline alone, and write the record.

``python -m benchmarks.render_record PHOTOS FOLDER [ROUNDS]`` renders the photos with two recipes,
as PNG and as JPEG, with 1, 2 and 4 processes, and with Ray if it is installed. In each round, the
exported script runs the same samples in a process of its own. Rates exclude the start of the
processes; ``with_start`` includes it. Writes ``assets/benchmarks/render-N-cores.json``. Takes about
4 minutes per round for 1,000 photos on two cores.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.engine.resources.machine import describe_machine
from workbench.versions.formats.format import encode_picture
from workbench.versions.plan import VersionPlan

RECIPES = ("rotate-jitter", "imagenet-train")
RECORDS = Path(__file__).parents[1] / "assets" / "benchmarks"
SHARD = 500
SCRIPT = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, sys.argv[1])
from pipe import build_pipeline
pipe = build_pipeline(sys.argv[2], num_threads=int(sys.argv[3]))
pipe.run()
first = time.perf_counter()
batches = int(sys.argv[4])
for _ in range(batches - 1):
    pipe.run()
end = time.perf_counter()
print((batches - 1) / (end - first), batches / (end - start))
"""


def pipeline_rate(graph: wb.Graph, photos: Path, place: Path, count: int) -> tuple[float, float]:
    """Return the imgs/s of the exported script after its first batch, and with its start."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    wb.export(graph, data=photos).write(place / "pipe.py")
    size = graph.settings.batch_size
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, place, photos, str(os.cpu_count()), str(count // size)],
        capture_output=True,
        text=True,
        check=True,
    )
    rate, with_start = (size * float(each) for each in done.stdout.split()[-2:])
    return rate, with_start


def render_rate(graph: wb.Graph, photos: Path, place: Path, **options: object) -> dict[str, float]:
    """Return the imgs/s of a render between its first and last batch, and with its start."""
    shutil.rmtree(place, ignore_errors=True)
    seen: list[tuple[float, float]] = []
    start = time.perf_counter()
    version = wb.render(
        graph,
        place,
        photos,
        shard_size=SHARD,
        on_progress=lambda share, text: seen.append((time.perf_counter(), share)),
        **options,  # type: ignore[arg-type]
    )
    end = time.perf_counter()
    count = sum(version.samples.values())
    counted = [(at, share) for at, share in seen if 0 < share <= 1]
    (first, begun), (last, done) = counted[0], counted[-2]
    return {
        "rate": count * (done - begun) / (last - first),
        "with_start": count / (end - start),
        "mb": version.manifest.size / 1e6,
    }


def encoding_ms(encoding: str, quality: int, photos: Path) -> float:
    """Return the median time in ms to encode one picture of the first recipe in one thread."""
    images = wb.load_recipe(RECIPES[0]).batch(0, samples=16, data=photos).images
    plan = VersionPlan(
        *({}, {}, {}, "", (), (1.0,), "folder", encoding, quality, False, 1, 1, (), {}, {})
    )
    times = []
    for image in [np.asarray(each) for each in images] * 4:
        start = time.perf_counter()
        encode_picture(image, plan)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    """Measure in rounds, and write the medians and all values."""
    photos, folder = Path(sys.argv[1]), Path(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    machine = describe_machine()
    cores = machine.cores
    count = sum(1 for each in photos.rglob("*") if each.is_file())
    runs: list[tuple[str, dict[str, object]]] = [
        ("png, 1 process", {"workers": 1}),
        ("jpeg 95, 1 process", {"workers": 1, "quality": 95}),
        ("jpeg 95, 2 processes", {"workers": 2, "quality": 95}),
        ("jpeg 95, 4 processes", {"workers": 4, "quality": 95}),
    ]
    if find_spec("ray"):
        runs.append(("jpeg 95, ray", {"ray": "local", "workers": 1, "quality": 95}))
    values: dict[str, dict[str, list[dict[str, float]]]] = {}
    for _ in range(rounds):
        for recipe in RECIPES:
            graph = wb.load_recipe(recipe).with_settings(batch_size=50, device="cpu")
            own = values.setdefault(recipe, {})
            rate, with_start = pipeline_rate(graph, photos, folder / "script", count)
            own.setdefault("pipeline alone", []).append({"rate": rate, "with_start": with_start})
            for name, options in runs:
                found = render_rate(graph, photos, folder / "version", **options)
                found["of_pipeline"] = found["rate"] / rate
                own.setdefault(name, []).append(found)
                print(recipe, name, {key: round(value, 3) for key, value in found.items()})
    encoded = {
        "png": encoding_ms("png", 0, photos),
        "jpeg 95": encoding_ms("jpeg", 95, photos),
    }
    medians = {
        recipe: {
            name: {key: statistics.median(one[key] for one in each) for key in each[0]}
            for name, each in own.items()
        }
        for recipe, own in values.items()
    }
    record = {
        "machine": {"cpu": machine.cpu, "cores": machine.cores, "dali": machine.dali},
        "photos": count,
        "ms_to_encode_a_picture": encoded,
        "medians": medians,
        "rounds": values,
    }
    target = RECORDS / f"render-{cores}-cores.json"
    target.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({"ms": encoded, "medians": medians}, indent=1))


if __name__ == "__main__":
    main()
