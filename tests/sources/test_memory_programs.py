"""Programs that read images in memory: what they are given, and what a shell names."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.helpers import arrays_of, import_script, same, script_batches
from tests.sources.in_memory import COUNT, FORMS, PIXELS, a_graph
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine.build.kernel_program import make_loader
from workbench.errors import DataError, GraphEditError, GraphExportError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import Document
from workbench.preview.verify import Verifier
from workbench.sources import open_dataset, require_dataset
from workbench.ui.export.cell_source import cell_source


@pytest.mark.thorough
def test_of_pipelines_side_by_side_every_image_comes_once() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    data = {"data": open_dataset(FORMS["pairs"]())}
    graph = set_setting(a_graph(data["data"]), pipelines=2)
    report = Verifier(graph, data, 100, target="pytorch").run()
    assert report.lines() == [f"identical: {COUNT} of {COUNT}"]
    batches = make_loader(graph, data, "torch")
    images = [image.numpy().tobytes() for batch in batches for image in batch[0]]
    assert len(set(images)) == len(images) == COUNT


def test_the_pytorch_loader_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    dataset = open_dataset(FORMS["pairs"]())
    module = import_script(export(a_graph(dataset), "pytorch", load_catalog()).main.text, tmp_path)

    def labels(loader: Any, most: int) -> list[list[int]]:
        return [batch["labels"].tolist() for _, batch in zip(range(most), loader, strict=False)]

    whole = module.Loader(module.build_pipeline(dataset.argument))
    epochs = [labels(whole, 9) for _ in range(3)]
    assert all(sorted(chain.from_iterable(epoch)) == list(range(COUNT)) for epoch in epochs)
    first = module.Loader(module.build_pipeline(dataset.argument, resumable=True))
    assert labels(first, 9) == epochs[0]
    resumed = module.build_pipeline(dataset.argument, resumable=True, checkpoint=first.checkpoint())
    again = module.Loader(resumed)
    assert [labels(again, 9), labels(again, 9)] == epochs[1:]


def test_a_program_is_given_the_data_set_itself_too(tmp_path: Path) -> None:
    dataset = open_dataset(PIXELS)
    (ours,) = script_batches(a_graph(dataset), dataset.argument, 1, tmp_path)
    module = import_script(export(a_graph(dataset), "script").main.text, tmp_path)
    (images, _) = module.build_pipeline(PIXELS).run()
    assert same(arrays_of(images), ours[0])


def test_no_cell_can_write_the_images_down() -> None:
    dataset = open_dataset(PIXELS)
    with pytest.raises(
        GraphEditError, match=r"array \(11, 40, 50, 3\), are objects of this kernel"
    ):
        cell_source({"data": dataset}, Document(load_recipe("rotate-jitter")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("tensorflow", "reader: it reads with Python"),
        ("dynamic", "reader: DALI's dynamic mode does not read as read_images"),
    ],
)
def test_where_python_cannot_go_is_said(target: str, words: str) -> None:
    with pytest.raises(GraphExportError, match=words):
        export(a_graph(PIXELS), target, load_catalog())


@pytest.mark.parametrize("target", ["script", "pytorch", "lightning", "paddle", "ray"])
def test_programs_say_what_they_take(target: str) -> None:
    with_ = "training" if target in ("pytorch", "lightning") else ""
    text = export(a_graph(PIXELS), target, load_catalog(), with_=with_).main.text
    assert "--data MODULE:FACTORY" in text
    assert text.count("import numpy as np\n") == 1
    assert "abspath(args.data)" not in text
    assert "py_num_workers=WORKERS" in text


def test_a_served_model_takes_requests_in_its_place() -> None:
    assert "read_images" not in export(a_graph(PIXELS), "triton", load_catalog()).main.text


DRIVER = """
import numpy as np
from pipe import build_pipeline

if __name__ == "__main__":
    pipe = build_pipeline("own_data:photos", batch_size=4)
    for _ in range(6):
        for output in pipe.run():
            for sample in output:
                print(np.asarray(sample).astype(int).sum())
"""


@pytest.mark.thorough
def test_further_processes_give_the_same_batches(factory: Path) -> None:
    run("export", "rotate-jitter", "--data", "own_data:photos", "-o", "pipe.py")
    (factory / "driver.py").write_text(DRIVER)
    printed = []
    for workers in (0, 2):
        text = (factory / "pipe.py").read_text()
        (factory / "pipe.py").write_text(text.replace("WORKERS = 0", f"WORKERS = {workers}"))
        done = subprocess.run([sys.executable, "driver.py"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1] != ""


FACTORY = """
import numpy as np

def photos():
    random = np.random.default_rng(0)
    return [(random.integers(0, 256, (40, 50, 3)).astype(np.uint8), n % 3) for n in range(11)]

def floats():
    return np.zeros((2, 4, 4, 3))

def broken():
    raise KeyError("no such folder")
"""


@pytest.fixture
def factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_data.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in(2, ["own_data:photos", "own_data.py:photos"]))
def test_the_shell_names_a_factory(factory: Path, name: str) -> None:
    done = run("verify", "rotate-jitter", "--data", name, "--batches", "2")
    assert done.endswith("identical: 128 of 128\n")
    run("export", "rotate-jitter", "--data", name, "-o", "pipe.py")
    program = [sys.executable, "pipe.py", "--batches", "2", "--batch-size", "4", "--data"]
    ran = subprocess.run([*program, name], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("imgs/s\n")
    refused = subprocess.run([*program, "photos"], capture_output=True, text=True)
    assert "'photos' is no module:factory: name a function" in refused.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_data:floats", "own_data:floats: The array (2, 4, 4, 3) of float64 goes from 0 to 0"),
        ("own_data:broken", "own_data:broken gives no data: KeyError: 'no such folder'"),
        ("own_data:nothing", "has no attribute 'nothing'"),
        ("no_such_module:photos", "ModuleNotFoundError"),
    ],
)
def test_a_factory_that_gives_no_images_is_told(factory: Path, name: str, words: str) -> None:
    done = CliRunner().invoke(main, ["verify", "rotate-jitter", "--data", name])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_a_factory_is_called_where_a_command_names_it_alone(factory: Path) -> None:
    (factory / "own_data.py").write_text("raise SystemExit('it was run')")
    dataset = open_dataset("own_data:photos")
    assert dataset.kind == "folder"
    with pytest.raises(DataError):
        require_dataset(dataset)
