"""Exported programs as a whole: the command line, torchrun, a kernel, a trainer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.damaged import REFUSED
from tests.emit.targets.test_execute import (
    CATALOG,
    ENVIRONMENT,
    ROOT,
    require,
    seeing,
    shuffled_eval,
    some_of,
    write,
)
from tests.helpers import import_script
from tests.thorough import one_in
from workbench.emit.targets import export, load_target
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.health import check_folder

TWO_RANKS = (
    *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    *("--local-addr", "127.0.0.1"),
)
"""torchrun; without the address the ranks look for each other by host name, resolved or not."""


def run(folder: Path, *command: str, gpus: str = "") -> str:
    """Standard output of a program that runs in the folder and ends well."""
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=folder,
        env=os.environ | ENVIRONMENT | seeing(gpus) | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.thorough
def test_pytorch_trains_saves_and_resumes(photos: Path, tmp_path: Path) -> None:
    require("pytorch")
    few = some_of(photos, 10, tmp_path / "photos")
    folder = write(load_recipe("imagenet-train"), "pytorch", tmp_path, "training")
    options = ["--data", str(few), "--classes", "12", "--save", "state"]
    first = run(folder, "loader.py", *options, "--epochs", "2")
    assert re.findall(r"epoch (\d): (\d+) samples", first) == [("0", "10"), ("1", "10")]
    assert (folder / "state.0").exists()
    then = run(folder, "loader.py", *options, "--epochs", "3")
    assert re.findall(r"epoch (\d): (\d+) samples", then) == [("2", "10")]


@pytest.mark.thorough
def test_pytorch_under_torchrun_reads_a_shard_for_each_rank(photos: Path, tmp_path: Path) -> None:
    require("pytorch")
    train_with_two_ranks(photos, tmp_path)


def train_with_two_ranks(photos: Path, folder: Path, gpus: str = "") -> None:
    few = some_of(photos, 9, folder / "photos")  # a last batch that is empty on one rank
    graph = set_setting(load_recipe("two-view"), device="mixed" if gpus else "cpu")
    write(graph, "pytorch", folder, "training")
    printed = run(folder, *TWO_RANKS, "loader.py", f"--data={few}", "--threads=1", gpus=gpus)
    found = re.findall(r"rank (\d), epoch 0: (\d+) samples, loss ([\d.]+)", printed)
    assert sorted((rank, count) for rank, count, _ in found) == [("0", "4"), ("1", "5")]


@pytest.mark.thorough
def test_ray_writes_no_shards_beside_those_of_another_run(tmp_path: Path) -> None:
    require("ray")
    folder = write(load_recipe("imagenet-eval"), "ray", tmp_path)
    old = folder / "out" / "shard-00003-epoch-000.tar"
    old.parent.mkdir()
    old.touch()
    command = [sys.executable, "augment.py", "--data", "photos", "--out", "out"]
    environment = os.environ | ENVIRONMENT | seeing("")
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 2, done.stderr
    assert f"{old.parent} has shards of another run: name a new folder" in done.stderr
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.thorough
def test_dali_refuses_more_ranks_than_files(photos: Path, tmp_path: Path) -> None:
    """So no rank counts its loss over nothing."""
    require("pytorch")
    some_of(photos, 1, tmp_path / "photos")
    folder = write(load_recipe("imagenet-eval"), "pytorch", tmp_path)
    code = "from loader import build_pipeline; build_pipeline('photos', num_shards=2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1
    assert "input samples: 1, needs to be at least equal to the requested number" in done.stderr


def ranks_read_all(photos: Path, tmp_path: Path, gpus: str = "") -> list[dict[str, Any]]:
    """What two ranks of torchrun found, after a look at three epochs: each photo once in each.

    A photo is known by its label: decoders of a GPU need not agree in every bit.
    """
    data = some_of(photos, 33, tmp_path / "photos")
    for photo in sorted((data / "all").iterdir()):
        (data / photo.stem).mkdir()
        photo.rename(data / photo.stem / photo.name)
    (data / "all").rmdir()
    graph = set_setting(shuffled_eval(), device="mixed" if gpus else "cpu")
    folder = write(graph, "pytorch", tmp_path / "exported")
    program = ("-m", "tests.emit.targets.drive", "rank", str(folder), str(data), "3")
    run(ROOT, *TWO_RANKS, *program, gpus=gpus)
    found = [json.loads((folder / f"rank-{number}.json").read_text()) for number in range(2)]
    epochs = list(zip(*(rank["epochs"] for rank in found), strict=True))
    assert len(epochs) == 3
    for first, second in epochs:
        assert {len(first), len(second)} == {16, 17}
        assert sorted(first + second) == list(range(33))
    assert epochs[0] != epochs[1], "an epoch is shuffled as the one before"
    return found


@pytest.mark.thorough
def test_ranks_of_torchrun_lose_and_double_nothing(photos: Path, tmp_path: Path) -> None:
    require("pytorch")
    found = ranks_read_all(photos, tmp_path)
    assert [rank["places"] for rank in found] == [["cpu"], ["cpu"]]


def require_two_gpus() -> None:
    require("pytorch")
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip(f"two GPUs are needed; there is {torch.cuda.device_count()}")


@pytest.mark.gpu
def test_ranks_on_two_gpus_lose_and_double_nothing(photos: Path, tmp_path: Path) -> None:
    require_two_gpus()
    found = ranks_read_all(photos, tmp_path, gpus="0,1")
    assert [rank["places"] for rank in found] == [["cuda:0"], ["cuda:1"]]


@pytest.mark.gpu
def test_the_training_loop_runs_on_two_gpus(photos: Path, tmp_path: Path) -> None:
    require_two_gpus()
    train_with_two_ranks(photos, tmp_path, gpus="0,1")


@pytest.mark.gpu
def test_the_training_loop_runs_on_the_gpu(photos: Path, tmp_path: Path) -> None:
    require("pytorch")
    few = some_of(photos, 10, tmp_path / "photos")
    graph = set_setting(load_recipe("imagenet-train"), device="mixed")
    folder = write(graph, "pytorch", tmp_path, "training")
    assert "10 samples" in run(folder, "loader.py", "--data", str(few), gpus="0")


@pytest.mark.thorough
def test_lightning_trains_and_resumes(photos: Path, tmp_path: Path) -> None:
    require("lightning")
    few = some_of(photos, 10, tmp_path / "photos")
    folder = write(load_recipe("imagenet-train"), "lightning", tmp_path, "training")
    options = ["--data", str(few), "--val-data", str(few), "--classes", "12"]
    assert "val_loss" in run(folder, "datamodule.py", *options, "--epochs", "1")
    (kept,) = folder.rglob("*.ckpt")
    run(folder, "datamodule.py", *options, "--epochs", "2", "--resume", str(kept))
    steps = {path.stem for path in folder.rglob("*.ckpt")}
    assert steps == {"epoch=0-step=3", "epoch=1-step=6"}


@pytest.mark.thorough
def test_lightning_resumes_once_and_with_as_many_ranks(tmp_path: Path) -> None:
    require("lightning")
    folder = write(load_recipe("imagenet-train"), "lightning", tmp_path)
    module = import_script((folder / "datamodule.py").read_text(), tmp_path)
    data = module.PipelineData("photos")
    data.trainer = SimpleNamespace(global_rank=1, world_size=2)
    data.load_state_dict({"loaders": [b"first", b"second"]})
    assert data.saved == b"second"
    with pytest.raises(ValueError, match="resume with 3 ranks as saved, not 2"):
        data.load_state_dict({"loaders": [None] * 3})


@pytest.mark.thorough
def test_the_notebook_runs_in_a_kernel(photos: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    some_of(photos, 8, tmp_path / "photos")
    graph = load_recipe("two-view")
    graph = replace(graph, settings=replace(graph.settings, batch_size=4, num_threads=2))
    text = export(graph, "notebook", CATALOG).main.text
    notebook = nbformat.reads(text, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2, "a row of pictures for each view"
    printed = "".join(output.get("text", "") for output in outputs)
    assert "view_1: " in printed
    assert "imgs/s" in printed


@pytest.mark.thorough
def test_dynamic_mode_prints_its_speed(photos: Path, tmp_path: Path) -> None:
    few = some_of(photos, 8, tmp_path / "photos")
    folder = write(load_recipe("imagenet-eval"), "dynamic", tmp_path)
    assert "imgs/s" in run(folder, "dynamic.py", "--data", str(few), "--batches", "2")


@pytest.mark.parametrize(
    ("target", "options", "told"),
    one_in(
        5,
        [
            ("script", "pipe.py --batches 2", "imgs/s"),
            ("dynamic", "dynamic.py --batches 2", "imgs/s"),
            ("pytorch", "loader.py --classes 12", "rank 0, epoch 0: 8 samples"),
            ("lightning", "datamodule.py --classes 12", ""),
            ("ray", "augment.py --out shards --threads 1", "8 samples in"),
        ],
    ),
)
def test_a_graph_that_names_its_files_needs_no_folder(
    target: str, options: str, told: str, photos: Path, tmp_path: Path
) -> None:
    if target != "script":
        require(target)
    some_of(photos, 8, tmp_path / "photos")
    names = "".join(f"photos/all/{number:02}.jpg {number}\n" for number in range(8))
    (tmp_path / "list.txt").write_text(names)
    graph = set_arg(load_recipe("imagenet-eval"), CATALOG, "reader", "file_list", "list.txt")
    trains = load_target(target).training is not None
    folder = write(graph, target, tmp_path, "training" if trains else "")
    assert told in run(folder, *options.split())


# An exported program reads the list that a check writes, and ends at a bad file without it.

COUNT = 99
"""A folder with good files and a bad one."""
OPTIONS = {"ray": ["--out", "out", "--actors", "1", "--threads", "1"]}
LOADERS = {
    "jax": """
from loader import Loader
print(sum(int(batch["valid"].sum()) for batch in Loader(sys.argv[1])), "samples")
""",
    "tensorflow": """
from dataset import Loader, build_pipeline
print(sum(len(batch["labels"]) for batch in Loader(build_pipeline(sys.argv[1]))), "samples")
""",
}
"""Who goes through the batches of what is no program but a loader."""


@pytest.fixture
def one_percent_bad(photos: Path, tmp_path: Path) -> Path:
    folder = some_of(photos, COUNT, tmp_path / "photos")
    make, _ = REFUSED["bomb.png"]
    (folder / "all" / "bad.png").write_bytes(make(b""))
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("target", one_in(5, ["pytorch", "jax", "tensorflow", "ray", "lightning"]))
def test_a_program_reads_the_good_files_of_a_list(
    target: str, one_percent_bad: Path, tmp_path: Path
) -> None:
    require(target)
    good = tmp_path / "good.txt"
    good.write_bytes(check_folder(str(one_percent_bad), full=False).good_list())
    with_ = "training" if target in ("pytorch", "lightning") else ""
    folder = write(load_recipe("imagenet-eval"), target, tmp_path, with_, data=good)
    if target in LOADERS:
        printed = run(folder, "-c", f"import sys\n{LOADERS[target]}", str(good))
    else:
        (program,) = folder.glob("*.py")
        printed = run(folder, program.name, "--data", str(good), *OPTIONS.get(target, ()))
    if target != "lightning":  # whose trainer counts batches
        assert re.search(rf"\b{COUNT} samples", printed)


def test_without_the_list_it_ends_with_the_name_that_dali_gives(
    one_percent_bad: Path, tmp_path: Path
) -> None:
    folder = write(load_recipe("imagenet-eval"), "script", tmp_path)
    command = [sys.executable, "pipe.py", "--data", str(one_percent_bad)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1
    assert "bad.png" in done.stderr
