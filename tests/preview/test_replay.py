"""Loaders that return file names and random values, and their samples shown again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.emit.targets.test_execute import require
from tests.helpers import CATALOG
from workbench.emit.targets import export
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.variants.samples import hidden_draws

READ = """
import runpy, sys, numpy as np
space = runpy.run_path(sys.argv[1])
loader = space["Loader"](space["build_pipeline"](sys.argv[2]))
batches = [next(iter(loader)) for _ in range(2)]
found = {f"{n}/{name}": values for n, b in enumerate(batches) for name, values in b.items()}
np.savez(sys.argv[3], **{k: np.array(v) for k, v in found.items()})
"""


def test_a_sample_is_shown_again_bit_for_bit(photos: Path, tmp_path: Path) -> None:
    require("pytorch")
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=4, num_threads=1)
    program = export(graph, "pytorch", with_="samples", data=photos).write(tmp_path / "l.py")[0]
    arguments = [sys.executable, "-c", READ, str(program), str(photos), str(tmp_path / "b.npz")]
    subprocess.run(arguments, check=True)
    batches = np.load(tmp_path / "b.npz")
    drawn = {"angle", "brightness", "contrast", "hue", "saturation", "mirror"}
    for number, place in ((0, 0), (0, 3), (1, 2)):
        batch = {key[2:]: batches[key][place] for key in batches if key.startswith(f"{number}/")}
        assert batch.keys() == {"images", "labels", "file", *drawn}
        file = str(batch["file"])
        assert (photos / file).is_file()
        shown = wb.replay(graph, file, {name: batch[name] for name in drawn}, photos)
        assert np.array_equal(shown.images[0], batch["images"])
        assert shown.labels.item() == batch["labels"]
        classes = sorted(each.name for each in photos.iterdir())
        assert classes[batch["labels"]] == Path(file).parent.name


def test_what_cannot_be_shown_again_is_told(photos: Path) -> None:
    graph = load_recipe("rotate-jitter")
    file = str(next(photos.rglob("*.jpg")))
    values = dict.fromkeys(("brightness", "contrast", "hue", "saturation", "mirror"), 1)
    with pytest.raises(wb.GraphError, match="angle: its value is missing"):
        wb.replay(graph, file, values, photos)
    with pytest.raises(wb.GraphError, match="angel: no such node"):
        wb.replay(graph, file, {**values, "angel": 1}, photos)
    with pytest.raises(wb.DataError, match="has no file"):
        wb.replay(graph, "none.jpg", {**values, "angle": 1}, photos)
    with pytest.raises(wb.DataError, match="Give data"):
        wb.replay(graph, file, {**values, "angle": 1})
    with pytest.raises(wb.GraphError, match="random_resized_crop draws by itself"):
        wb.replay(load_recipe("imagenet-train"), file, {"mirror": 1}, photos)


def test_nodes_whose_values_no_output_has_are_noted() -> None:
    graph = load_recipe("imagenet-train")
    (hidden,) = hidden_draws(graph, CATALOG)
    made = export(graph, "pytorch", with_="samples")
    assert [note.partition(" ")[0] for note in made.notes] == [hidden]
    with pytest.raises(wb.GraphExportError, match="or for pytorch"):
        export(graph, "jax", with_="samples")
    with pytest.raises(wb.GraphExportError, match="one folder or list"):
        export(load_recipe("segmentation"), "pytorch", with_="samples")


def test_a_loader_without_samples_is_as_before() -> None:
    assert '"file"' not in export(load_recipe("rotate-jitter"), "pytorch").main.text
