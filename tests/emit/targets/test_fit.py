"""Keras on each backend, and transformers' Trainer, train on what is exported for them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers import CATALOG, with_settings
from workbench.emit.targets import export
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

_KERAS = """
import sys, keras, generator
pipe = generator.build_pipeline(sys.argv[1], batch_size=8, num_threads=2)
layers = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(16)]
model = keras.Sequential(layers)
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
steps = generator.steps(pipe)
history = model.fit(generator.batches(pipe), steps_per_epoch=steps, epochs=2, verbose=0)
print(keras.backend.backend(), steps, len(history.history["loss"]))
"""
_TRAINER = """
import sys, torch, trainer
from transformers import TrainingArguments

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(3, 16)
        self.seen = 0
    def forward(self, pixel_values, labels):
        self.seen += len(labels)
        logits = self.last(pixel_values.mean(dim=(2, 3)))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

arguments = TrainingArguments(
    sys.argv[2], per_device_train_batch_size=8, num_train_epochs=2, report_to=[],
    save_strategy="no", use_cpu=True, disable_tqdm=True,
)
made = trainer.DaliTrainer(Model(), arguments, data=sys.argv[1])
done = made.train()
print(done.global_step, len(made.get_train_dataloader()), made.model.seen)
"""


def run(code: str, folder: Path, *arguments: Path, **environment: str) -> list[str]:
    """The words that a program prints last, in a folder of exported modules."""
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""} | environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1].split()


def write(target: str, folder: Path, layout: str) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), num_threads=2)
    graph = set_arg(graph, CATALOG, "normalize", "output_layout", layout)
    for name, code in export(graph, target, CATALOG).files.items():
        (folder / name).write_text(code.text, encoding="utf-8")


@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_keras_fits_on_each_backend(backend: str, photos: Path, tmp_path: Path) -> None:
    missing = [name for name in ("keras", backend) if find_spec(name) is None]
    if missing:
        pytest.skip(f"not executed: {' and '.join(missing)} not installed")
    write("keras", tmp_path, "HWC")
    steps = -(-len(list(photos.rglob("*.jpg"))) // 8)
    environment = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    assert run(_KERAS, tmp_path, photos, **environment) == [backend, str(steps), "2"]


def test_the_trainer_of_transformers_trains(photos: Path, tmp_path: Path) -> None:
    missing = [name for name in ("torch", "transformers", "accelerate") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not executed: {' and '.join(missing)} not installed")
    write("huggingface", tmp_path, "CHW")
    steps = -(-len(list(photos.rglob("*.jpg"))) // 8)
    found = run(_TRAINER, tmp_path, photos, tmp_path / "out")
    assert found == [str(2 * steps), str(steps), str(2 * steps * 8)]
