"""Every loader outputs each sample once in an epoch, whoever reads it and however it is left."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.emit.targets.test_execute import drive, require
from tests.helpers import import_script
from workbench.emit.targets import export, load_target
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_setting

pytestmark = pytest.mark.timeout(600)

Case = tuple[int, int, int, int]
"""Pipelines, ranks, samples and batch size."""
ALWAYS: Sequence[Case] = (
    *((1, 1, 10, 4), (1, 2, 17, 4), (1, 3, 33, 1), (1, 4, 97, 8), (1, 2, 2, 3), (1, 3, 25, 8)),
    *((2, 1, 40, 4), (2, 1, 17, 8), (2, 1, 9, 1), (2, 2, 33, 4), (3, 1, 25, 4), (3, 2, 49, 8)),
)
"""Among them shards whose last batch would be empty, and batches of one sample."""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each number from 1 to 100 a list of as many files, labelled from 0."""
    folder = tmp_path_factory.mktemp("lists")
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / "photo.png")
    for count in range(1, 101):
        lines = [f"{folder / 'photo.png'} {number}\n" for number in range(count)]
        (folder / f"{count}.txt").write_text("".join(lines))
    return folder


def shuffled(data: Path, pipelines: int = 1) -> Graph:
    graph = wb.read(data / "12.txt", random_shuffle=True).decode().resize(size=(8, 8))
    return set_setting(graph, pipelines=pipelines, batch_size=4, num_threads=1)


def write(target: str, data: Path, folder: Path) -> Path:
    """The exports for one pipeline and, where the target runs several, for these."""
    able = load_target(target).side_by_side
    for name, pipelines in (("one", 1), ("several", 2)) if able else (("one", 1),):
        made = export(shuffled(data, pipelines), target, data=str(data / "12.txt"))
        (folder / name).mkdir()
        for file, code in made.files.items():
            (folder / name / file).write_text(code.text)
    return folder


def some_cases(count: int, target: str, seed: int = 0, ranks: int = 4) -> list[Case]:
    """Random cases in which every shard has a sample."""
    chance, found = random.Random(seed), []
    most = 3 if load_target(target).side_by_side else 1
    while len(found) < count:
        case = tuple(chance.randint(1, most) for most in (most, ranks, 100, 16))
        if case[0] * case[1] <= case[2]:
            found.append((case[0], case[1], case[2], case[3]))
    return found


def able(target: str, cases: Sequence[Case]) -> list[Case]:
    several = load_target(target).side_by_side
    return [case for case in cases if several or case[0] == 1]


def test_an_epoch_is_whole_after_one_that_was_left(lists: Path, tmp_path: Path) -> None:
    """Under islice, zip, break, and an early end; with any number of pipelines and ranks."""
    require("pytorch")
    folder = write("pytorch", lists, tmp_path)
    assert drive("audit", "pytorch", folder, lists, json.dumps(ALWAYS)) == [[]]


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["lightning", "tensorflow", "ray"])
def test_an_epoch_is_whole_in_every_target(target: str, lists: Path, tmp_path: Path) -> None:
    require(target)
    folder = write(target, lists, tmp_path)
    assert drive("audit", target, folder, lists, json.dumps(able(target, ALWAYS))) == [[]]


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_an_epoch_is_whole_on_every_device_of_jax(ranks: int, lists: Path, tmp_path: Path) -> None:
    require("jax")
    folder = write("jax", lists, tmp_path)
    tried = (*ALWAYS, *some_cases(20, "jax", seed=ranks))
    cases = json.dumps([case for case in tried if case[0] * ranks <= case[2]])
    devices = f"--xla_force_host_platform_device_count={ranks}"
    assert drive("audit", "jax", folder, lists, cases, XLA_FLAGS=devices) == [[]]


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["pytorch", "lightning", "tensorflow", "ray"])
def test_random_divisions_lose_and_double_nothing(target: str, lists: Path, tmp_path: Path) -> None:
    require(target)
    folder = write(target, lists, tmp_path)
    cases = json.dumps(some_cases(60, target))
    assert drive("audit", target, folder, lists, cases) == [[]]


def test_a_loader_resumes_after_every_batch(lists: Path, tmp_path: Path) -> None:
    require("pytorch")
    folder = write("pytorch", lists, tmp_path)
    cases: list[Case] = [(1, 1, 8, 4), (1, 2, 9, 4), (2, 1, 9, 4), (2, 1, 5, 1)]
    assert drive("resumed", folder, lists, json.dumps(cases)) == [[]]


@pytest.mark.thorough
def test_keras_reads_every_sample(lists: Path, tmp_path: Path) -> None:
    require("keras")
    folder = write("keras", lists, tmp_path) / "one"
    cases = [*able("keras", ALWAYS), *some_cases(60, "keras")]
    assert drive("padded", folder, lists, json.dumps(cases)) == [[]]


@pytest.mark.thorough
def test_an_epoch_is_whole_in_paddle(lists: Path, tmp_path: Path) -> None:
    pytest.importorskip("paddle", reason="paddlepaddle is not installed")
    folder = write("paddle", lists, tmp_path)
    cases = json.dumps([*able("paddle", ALWAYS), *some_cases(60, "paddle")])
    assert drive("audit", "paddle", folder, lists, cases) == [[]]


@pytest.mark.thorough
def test_a_trainer_of_transformers_sees_every_sample(lists: Path, tmp_path: Path) -> None:
    """The Hugging Face target, in a real ``Trainer``; its short batches are padded."""
    for needed in ("torch", "transformers", "accelerate"):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    folder = write("huggingface", lists, tmp_path)
    cases = json.dumps([*able("huggingface", ALWAYS), *some_cases(10, "huggingface")])
    assert drive("trained", folder, lists, cases) == [[]]


@pytest.mark.parametrize("pipelines", [1, 2])
def test_a_loader_that_restarts_skips_the_rest(pipelines: int, lists: Path, tmp_path: Path) -> None:
    """As Lightning's sanity check leaves the epoch of a validation loader."""
    pytest.importorskip("torch", reason="torch is not installed")
    data = str(lists / "12.txt")
    text = export(shuffled(lists, pipelines), "pytorch", data=data).main.text
    module: Any = import_script(text, tmp_path)
    build = module.build_pipeline if pipelines == 1 else module.build_pipelines
    loader = module.Loader(build(data), restart=True)
    for _ in range(2):
        assert len(next(iter(loader))["labels"]) == 4
        labels = [label for batch in loader for label in batch["labels"].tolist()]
        assert sorted(labels) == list(range(12))


@pytest.mark.thorough
def test_lightning_validates_all_after_its_sanity_check(lists: Path, tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="lightning is not installed")
    text = export(load_recipe("imagenet-train"), "lightning").main.text
    (tmp_path / "exported.py").write_text(text)
    for number in range(12):
        (tmp_path / "photos" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / "a" / f"{number}.png").symlink_to(lists / "photo.png")
    done = subprocess.run(
        [sys.executable, "-c", _VALIDATE, tmp_path / "photos"],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split("found")[1].split() == ["12", "12"]


_VALIDATE = """
import sys, lightning, torch, exported

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = torch.nn.Linear(1, 1), []
    def training_step(self, batch, index):
        return self.layer(torch.ones(1, 1)).sum()
    def on_validation_epoch_start(self):
        self.seen.append(0)
    def validation_step(self, batch, index):
        self.seen[-1] += len(batch["labels"])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

model = Model()
trainer = lightning.Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False,
    enable_model_summary=False, enable_checkpointing=False, num_sanity_val_steps=2,
)
data = exported.PipelineData(sys.argv[1], sys.argv[1], batch_size=2, num_threads=1)
trainer.fit(model, datamodule=data)
print("found", *model.seen[1:])
"""
