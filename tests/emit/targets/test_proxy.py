"""The target ``proxy``: samplers, ranks, workers that die, and files that are no images."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.emit.targets.test_execute import ROOT, require, seeing, some_of
from tests.emit.targets.test_graphs import with_classes
from tests.helpers import CATALOG, with_settings
from workbench.emit.targets import export
from workbench.errors import GraphExportError
from workbench.graph import load_recipe

pytestmark = pytest.mark.timeout(300)
BATCH = 4


@pytest.fixture(scope="module")
def data(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """22 photos of two classes: six batches, the last one short."""
    folder = tmp_path_factory.mktemp("proxy")
    for label, count in (("a", 10), ("b", 12)):
        some_of(photos, count, folder / "of" / label)
        (folder / "data").mkdir(exist_ok=True)
        (folder / "of" / label / "all").rename(folder / "data" / label)
    return folder / "data"


@pytest.fixture(scope="module")
def program(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an exported program whose images do not depend on random values."""
    require("proxy")
    folder = tmp_path_factory.mktemp("program")
    graph = wb.read(str(data), random_shuffle=True).decode().resize(size=(32, 32))
    graph = with_settings(graph, batch_size=BATCH, num_threads=1)
    (folder / "loader.py").write_text(export(graph, "proxy", CATALOG).main.text)
    return folder


def run(case: str, program: Path, data: Path, ranks: int = 1) -> Any:
    command = [sys.executable]
    if ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += ["-m", "tests.emit.targets.run_proxy", case, str(program), str(data)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, cwd=ROOT, env=os.environ | seeing("")
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_pytorch_without_cuda_is_named(program: Path, data: Path) -> None:
    """DALI Proxy marks its steps for profilers with NVTX, which such a build lacks."""
    said = run("built_without_cuda", program, data)
    assert said.startswith("RuntimeError: DALI Proxy needs PyTorch with CUDA support")


def test_two_ranks_with_weights_and_without_a_sampler(program: Path, data: Path) -> None:
    """A class of weight 0 is never read; without a sampler the ranks share the samples."""
    every = run("ranks", program, data, ranks=2)
    for epochs, part in every:
        assert [len(epoch) for epoch in epochs] == [20, 20]
        assert {label for epoch in epochs for label in epoch} == {1}
        assert len(part) == 11
    first, second = ({tuple(sample) for sample in part} for _, part in every)
    assert len(first | second) == 22


@pytest.mark.thorough
def test_a_sampler_of_another_length_is_an_error(program: Path, data: Path) -> None:
    weights, sequence, beyond, below = run("wrong_length", program, data)
    assert weights == "ValueError: The sampler is for 21 samples, but the dataset has 22."
    assert sequence == "ValueError: The sampler is for 25 samples, but the dataset has 22."
    assert "The sampler returned 22, but the dataset has 22 samples." in beyond
    assert "The sampler returned -1, but the dataset has 22 samples." in below


def test_a_killed_worker_is_an_error_and_the_next_epoch_is_whole(program: Path, data: Path) -> None:
    found = run("killed", program, data)
    assert re.search(r"RuntimeError: DataLoader worker .* (killed|exited)", found["error"])
    assert found["again"]


@pytest.mark.thorough
def test_a_bad_file_ends_the_epoch_behind_the_good_batches(program: Path, data: Path) -> None:
    """The error names the samples of the batch, and a further epoch raises, where DALI waits."""
    found = run("bad", program, data)
    assert found["labels"] == found["expected"]
    damaged, later, empty, path = found["errors"]
    assert damaged.startswith("RuntimeError: DALI failed on the samples [8, 9, 10, 11]")
    assert later == "RuntimeError: DALI's pipeline has failed before. Build a new one."
    assert "Sample 9 has b'', not the bytes of an image file." in empty
    assert "Sample 9 has 'a path', not the bytes of an image file." in path


@pytest.mark.thorough
def test_an_epoch_after_one_left_early_has_its_own_images(program: Path, data: Path) -> None:
    """DALI Proxy alone returns images of the previous epoch here, with labels of this one."""
    found = run("left_early", program, data)
    assert found["labels"]
    assert found["repeats"]
    assert found["any_workers"]


@pytest.mark.thorough
def test_labels_that_dali_needs_are_an_input_too(tmp_path: Path, data: Path) -> None:
    require("proxy")
    graph = with_settings(with_classes(load_recipe("imagenet-eval")), batch_size=BATCH)
    text = export(graph, "proxy", CATALOG).main.text
    assert text.count("= fn.external_source(") == 2
    assert "np.array([label], np.int32)" in text
    (tmp_path / "loader.py").write_text(text)
    assert run("classes", tmp_path, data) == [True] * 6


def test_labels_alone_are_refused() -> None:
    graph = load_recipe("imagenet-eval")
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    with pytest.raises(GraphExportError, match="outputs only labels, which PyTorch reads"):
        export(graph, "proxy", CATALOG)


def test_the_report_says_that_the_sampler_shuffles() -> None:
    (note,) = export(load_recipe("imagenet-train"), "proxy", CATALOG).notes
    assert note.startswith("reader: PyTorch's sampler shuffles instead of DALI's reader")
    assert export(load_recipe("imagenet-eval"), "proxy", CATALOG).notes == ()
