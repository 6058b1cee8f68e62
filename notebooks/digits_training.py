"""A small network on scikit-learn's digits, trained with and without augmentation.

Notebook 08 runs one seed of it. Five, in about three minutes on two cores:

    python notebooks/digits_training.py -o assets/benchmarks/digits-2-cores.json
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable
from pathlib import Path

import torch
from PIL import Image
from sklearn.datasets import load_digits

import workbench as wb

TRAIN_COUNT = 1200
"""The first digits train, the other 597 test."""
EPOCHS = 20
Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]
"""Images, float32 (N, 1, 16, 16), and labels, int64 (N,)."""
T_95 = 2.776
"""Student's t for a two-sided 95 % interval of five values."""


def write_digits(folder: str | Path) -> None:
    """Write the 1,797 digits as PNGs of 16 x 16: train/0/0000.png, ..., test/9/1796.png."""
    digits = load_digits()
    for index, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        part = "train" if index < TRAIN_COUNT else "test"
        path = Path(folder, part, str(label), f"{index:04}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray((image * 255 / 16).astype("uint8"))
        picture.resize((16, 16), Image.Resampling.BICUBIC).save(path)


def graphs(folder: str | Path) -> dict[str, wb.Graph]:
    """What trains, without and with augmentation, and what tests: as it is, and shifted."""
    uniform = wb.random.uniform

    def normalized(graph: wb.Graph) -> wb.Graph:
        return graph.crop_mirror_normalize(crop=(16, 16), mean=[128], std=[64], output_layout="CHW")

    train = wb.read(f"{folder}/train", random_shuffle=True).decode(output_type="GRAY")
    train = train.with_settings(batch_size=60, num_threads=2)
    augmented = train.rotate(angle=uniform(range=(-15, 15)), keep_size=True, fill_value=0)
    augmented = augmented.random_resized_crop(size=16, random_area=(0.7, 1.0))
    test = wb.read(f"{folder}/test").decode(output_type="GRAY")
    test = test.with_settings(batch_size=199, num_threads=2)
    shifted = test.rotate(angle=uniform(range=(-25, 25)), keep_size=True, fill_value=0)
    offset = wb.fn.transforms.translation(offset=uniform(range=(-2, 2), shape=[2]))
    shifted = shifted.warp_affine(matrix=offset, fill_value=0).gaussian_blur(sigma=0.7)
    made = {"plain": train, "augmented": augmented, "held-out": test, "shifted": shifted}
    return {name: normalized(graph) for name, graph in made.items()}


def make_network() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 4 * 4, 10)),
    )


def train(loader: Batches, seed: int) -> torch.nn.Module:
    """A network that has seen the batches of the loader."""
    torch.set_num_threads(1)  # steps of 5 ms: a second thread waits more than it works
    torch.manual_seed(seed)
    network = make_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(network(images), labels.flatten().long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


@torch.no_grad()
def accuracy(network: torch.nn.Module, loader: Batches) -> float:
    """The share of the loader's images whose class the network finds."""
    hits = [network(images).argmax(1) == labels.flatten() for images, labels in loader]
    return torch.cat(hits).double().mean().item()


def run_seed(shown: dict[str, wb.Workbench], seed: int) -> dict[str, dict[str, float]]:
    """Train both ways with one seed, for the draws and the weights; accuracy on both tests."""
    found = {}
    for name in ("plain", "augmented"):
        network = train(shown[name].loader("torch", epochs=EPOCHS, seed=seed), seed)
        tests = ("held-out", "shifted")
        found[name] = {test: accuracy(network, shown[test].loader("torch")) for test in tests}
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """The mean of five values and half the width of its 95 % interval."""
    return statistics.mean(values), T_95 * statistics.stdev(values) / len(values) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path(__file__).with_name("digits"))
    given = parser.parse_args()
    write_digits(given.data)
    shown = {name: wb.Workbench(graph, restore=False) for name, graph in graphs(given.data).items()}
    seeds = {}
    for seed in range(5):
        seeds[seed] = run_seed(shown, seed)
        print(seed, seeds[seed], flush=True)
    for workbench in shown.values():
        workbench.close()
    command = f"python notebooks/digits_training.py -o {given.output}"
    versions = {"torch": torch.__version__}
    record = {"command": command, "epochs": EPOCHS, "versions": versions, "accuracy": seeds}
    given.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
