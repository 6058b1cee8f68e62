"""Combine the output of ``tune_live`` and ``loader_rate`` into the record of parallel pipelines.

    python -m benchmarks.side_by_side RECORD.json FOLDER

FOLDER has ``train.json``, ``decode.json`` and ``heavy.json`` (``tune_live --long 60 --json``), the
same once more as ``again-train.json`` and so on where there was a second run, and of
``loader_rate`` ``loader.json`` and, of images of 1920x1280, ``large-PIPELINES-THREADS.json``.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

WORKS = ("train", "decode", "heavy")
KNOBS = (
    "batch_size", "threads", "pipelines", "prefetch", "hw_decoder_load", "executor", "dont_use_mmap"
)  # fmt: skip


def work(told: dict[str, Any]) -> dict[str, Any]:
    """The results of a tuner run for one graph; rates in imgs/s."""
    chosen = told["choice"]
    by_second = chosen["imgs_per_s_of_each_second"]
    known = told["tuner"]["extra"]["tune"]
    return {
        "commit": told["tuner"]["context"]["git"]["commit"],
        "created": told["tuner"]["created"],
        "machine": told["tuner"]["machine"],
        "plain scripts of one pipeline, by threads": told["plain"],
        "the tuner's choice": _knobs(chosen),
        "probes": known["probes"],
        "settings": known["grid"],
        "seconds of the tuner": told["seconds"]["tuner"],
        "used": known["headroom"],
        "percent of the time that JPEG engines work": told["jpeg_busy"],
        "the choice alone": {
            "seconds": len(by_second),
            "median": statistics.median(by_second),
            "slowest second of the median": min(by_second) / statistics.median(by_second),
            "of each second": by_second,
        },
        "in turns": [{**_knobs(one), "rounds": one["imgs_per_s"]} for one in told["in_turns"]],
        "one after the other": [
            {**_knobs(one), "rounds": one["imgs_per_s"]} for one in told["grid"]
        ],
    }


def loader(told: dict[str, Any]) -> dict[str, Any]:
    """An exported loader's rate in imgs/s, by graph."""
    settings = {
        key: value for key, value in told["settings"].items() if key not in ("data", "json", "work")
    }
    return {
        "settings": settings,
        "graphs": {
            name: {
                "median": statistics.median(rates),
                "slowest second of the median": min(rates) / statistics.median(rates),
                "of each second": [round(rate) for rate in rates],
            }
            for name, rates in told["imgs_per_s"].items()
        },
    }


def _knobs(told: dict[str, Any]) -> dict[str, Any]:
    return {knob: told[knob] for knob in KNOBS if told.get(knob) is not None}


def main() -> None:
    record, folder = Path(sys.argv[1]), Path(sys.argv[2])
    read = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    second = {name: f"again-{name}" for name in WORKS}
    told = {
        "imgs/s of": {name: work(read[name]) for name in WORKS},
        "once more": {name: work(read[again]) for name, again in second.items() if again in read},
        "exported PyTorch loader": loader(read["loader"]),
        "1920x1280": [loader(one) for name, one in read.items() if name.startswith("large-")],
    }
    record.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
