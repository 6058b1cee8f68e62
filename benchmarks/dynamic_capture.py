"""imgs/s of DALI's dynamic mode with and without capture (DALI 2.3), in interleaved runs.

    python -m benchmarks.dynamic_capture --data PHOTOS --device gpu --batch-size 128

Each run is a process of its own; the table has the median of each mode and whether both gave the
same first batches. The operators are those of ``imagenet-train``, with one random number generator
for all. In the exported target each operator has the same random state as in a pipeline; `workbench
export --target dynamic --with capture` makes a loop that DALI captures.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

WARM_UP = 5
MODES = ("plain", "capture")


def run(mode: str, data: str, device: str, size: int, threads: int, count: int) -> dict[str, Any]:
    """One measurement: images per second, and sums of the first batches."""
    import numpy as np
    import nvidia.dali.experimental.dynamic as ndd

    ndd.set_num_threads(threads)
    ndd_any: Any = ndd  # its types lack rng, among others
    reader = ndd_any.readers.File(file_root=data, random_shuffle=True, seed=42)
    rng = ndd_any.random.RNG(seed=7)
    sums: list[float] = []
    done, start = 0, 0.0
    while True:
        for jpegs, labels in reader.next_epoch(batch_size=size, capture=mode == "capture"):
            images = ndd_any.decoders.image(jpegs, device=device)
            images = ndd_any.random_resized_crop(images, size=(224, 224), rng=rng)
            mirror = ndd_any.random.coin_flip(batch_size=size, rng=rng)
            images = ndd_any.crop_mirror_normalize(
                images, dtype=ndd.float32, output_layout="CHW", mirror=mirror
            )
            images.evaluate()
            labels.evaluate()
            if done < WARM_UP:
                sums.append(float(np.array(images.tensors[0].cpu()).sum()))
            done += 1
            if done == WARM_UP:
                start = time.perf_counter()
            if done == WARM_UP + count:
                rate = count * size / (time.perf_counter() - start)
                return {"mode": mode, "rate": rate, "sums": sums}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, help="folder of photos; its size divides evenly")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mode", choices=MODES, help="one run, printed as JSON")
    args = parser.parse_args()
    if args.mode:
        settings = (args.data, args.device, args.batch_size, args.threads, args.batches)
        print(json.dumps(run(args.mode, *settings)))
        return
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
    for _ in range(args.rounds):
        for mode in MODES:
            command = [sys.executable, "-m", "benchmarks.dynamic_capture", *sys.argv[1:]]
            done = subprocess.run([*command, "--mode", mode], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            found[mode].append(json.loads(done.stdout.splitlines()[-1]))
    rates = {mode: [each["rate"] for each in runs] for mode, runs in found.items()}
    for mode, measured in rates.items():
        spread = f"{min(measured):,.0f} to {max(measured):,.0f}"
        print(f"{mode:8} {statistics.median(measured):10,.0f} imgs/s ({spread})")
    ratios = [two / one for one, two in zip(rates["plain"], rates["capture"], strict=True)]
    print(f"capture / plain: {statistics.median(ratios):.3f}")
    first = found["plain"][0]["sums"]
    print(f"the same batches: {all(each['sums'] == first for r in found.values() for each in r)}")


if __name__ == "__main__":
    main()
