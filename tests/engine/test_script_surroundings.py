"""Scripts whose surroundings are not here: modules, projects, command lines, lines that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import ImportFailedError

HEAD = (
    "from nvidia.dali import fn, ops, pipeline_def, types\n"
    "from nvidia.dali.pipeline import Pipeline\n"
)
ONE = """
@pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=1)
def train(data_dir, size=32):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    return fn.resize(fn.decoders.image(jpegs, device="mixed"), size=size), labels
"""


@pytest.fixture
def brought(tmp_path: Path) -> Any:
    def bring(text: str, pipeline: str | None = None, file: str = "train.py", **args: Any) -> Any:
        script = tmp_path / file
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text, encoding="utf-8")
        return wb.from_file(script, pipeline, args or None)

    return bring


def sizes(found: Any) -> list[Any]:
    return [node.args["size"] for node in found.graph.nodes if node.op == "resize"]


def test_modules_that_are_not_here(brought: Any) -> None:
    text = (
        "import no_such_torch.nn as nn\n"
        "from no_such_torch.utils.data import Dataset, register\n"
        "try:\n    import no_such_extra\nexcept ImportError:\n    no_such_extra = None\n"
        "class Net(nn.Module, Dataset[int]):\n"
        "    def __init__(self):\n        super().__init__()\n        self.a = nn.Conv2d(3, 8)\n"
        "@register('x')\ndef helper(size): return size if no_such_extra is None else 5\n"
        "net = Net().cuda() if hasattr(Net, 'cuda') else Net()\n"
        + HEAD
        + ONE.replace("size=32", "size=helper(48)")
        + "with nn.no_grad():\n    loss = nn.Loss(weight=2) * 3 + 1\n"
    )
    found = brought(text, data_dir="photos")
    assert sizes(found) == [(48,)] or sizes(found) == [48]
    assert [entry.place for entry in found.report.entries] == ["train.py:4"]
    assert "not installed here, replaced by stand-ins: no_such_torch" in found.report.notes


def test_lines_that_fail_and_a_command_line(brought: Any) -> None:
    text = (
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('data')\n"
        "parser.add_argument('--size', type=int, default=40)\n"
        "parser.add_argument('--needed', required=True)\n"
        "args = parser.parse_args()\n"
        "root = os.environ['NO_SUCH_VARIABLE']\n"
        "open('written.txt', 'w')\n"
        "os.makedirs('made')\n" + HEAD + ONE + "pipe = train(root + '/train', args.size)\n"
        "pipe.serialize(filename='written.dali')\n"
    )
    found = brought(text)
    assert sizes(found) in ([(40,)], [40])
    notes = "\n".join(found.report.notes)
    assert "train.py:7 failed (KeyError: 'NO_SUCH_VARIABLE')" in notes
    assert (
        "train.py:8 failed (PermissionError: a script cannot write files while it is imported"
        in notes
    )
    assert "stopped at train.py:18" in notes
    assert sizes(brought(text, size=64)) in ([(64,)], [64])
    assert not list(Path().glob("written*"))
    assert not Path("made").exists()


def test_a_project_and_relative_imports(brought: Any, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("raise SystemExit('it is not run')\n")
    package = tmp_path / "project" / "data"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("raise ValueError('it is not run')\n")
    (package / "sizes.py").write_text("import no_such_module\nSIZE = 56\nraise OSError('late')\n")
    (package.parent / "roots.py").write_text("import no_such_module\nEDGE = 3\n")
    text = (
        "from .sizes import SIZE\nfrom ..roots import EDGE\n"
        "from project.roots import EDGE as same\n"
        + HEAD
        + ONE.replace("size=32", "size=SIZE + EDGE + same")
    )
    found = brought(text, file="project/data/train.py", data_dir="photos")
    assert sizes(found) in ([(62,)], [62])
    assert "sizes.py:3 failed (OSError: late)" in "\n".join(found.report.notes)


def test_a_pipeline_of_another_module_of_the_project(brought: Any, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "pipes.py").write_text(HEAD + ONE)
    (tmp_path / "parts" / "all.py").write_text("from .pipes import train\n")
    found = brought("from parts import all\npipe = all.train('photos', 24)\npipe.build()\n")
    assert sizes(found) in ([(24,)], [24])


def test_methods_factories_and_configurations(brought: Any) -> None:
    text = HEAD + (
        "class Loader:\n"
        "    def __init__(self, data_dir, side):\n        self.data, self.side = data_dir, side\n"
        "    @pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=1)\n"
        "    def pipeline(self, plus):\n"
        "        j, _ = fn.readers.file(file_root=self.data)\n"
        "        return fn.resize(fn.decoders.image(j), size=self.side + plus)\n"
    )
    assert sizes(brought(text, data_dir="photos", side=8, plus=2)) in ([(10,)], [10])
    with pytest.raises(
        ImportFailedError, match=r"'Loader\.pipeline' requires 'data_dir', 'side', 'plus"
    ):
        brought(text)
    text = HEAD + (
        "def loader(cfg, rank):\n"
        "    pipe = Pipeline(cfg.batch, 2, rank, seed=1)\n"
        "    with pipe:\n"
        "        j, _ = fn.readers.file(file_root=cfg['data'].root)\n"
        "        pipe.set_outputs(fn.resize(fn.decoders.image(j), size=4 * cfg.fifth))\n"
        "    pipe.build()\n    return [pipe.epoch_size()]\n"
    )
    cfg: dict[str, Any] = {"batch": 3, "fifth": 5, "data": {"root": "photos"}}
    found = brought(text, cfg=cfg, rank=0)
    assert sizes(found) in ([(20,)], [20])
    assert found.graph.settings.batch_size == 3
    del cfg["fifth"]
    with pytest.raises(ImportFailedError, match=r"Pass it: --arg cfg\.fifth=\.\.\."):
        brought(text, cfg=cfg, rank=0)


def test_a_notebook_with_shell_lines(brought: Any) -> None:
    cells = [
        "files = !ls\n!pip install x \\\n   y\n",
        "this is no python\n",
        HEAD + ONE + "%time pipe = train('photos')\n",
        "pipe = train(files[0])",
    ]
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    found = brought(text, file="train.ipynb")
    assert "train.ipynb cell 2 cannot be read, and was skipped" in str(found.report)
    with pytest.raises(ImportFailedError, match=r"Code under `if __name__ == .* is not run"):
        brought(json.dumps({"cells": []}), file="none.ipynb")


def test_older_names(brought: Any) -> None:
    text = HEAD + (
        "class Old(Pipeline):\n"
        "    def __init__(self, batch_size, num_threads, device_id, data_dir):\n"
        "        super().__init__(batch_size, num_threads, device_id, seed=3)\n"
        "        self.read = ops.FileReader(file_root=data_dir)\n"
        "        self.decode = ops.nvJPEGDecoderRandomCrop(device='mixed')\n"
        "        self.norm = ops.NormalPermute(device='gpu', mean=[1.0], std=[2.0])\n"
        "        self.coin = ops.CoinFlip(probability=0.5)\n"
        "    def define_graph(self):\n"
        "        jpegs, labels = self.read(name='Reader')\n"
        "        return self.norm(self.decode(jpegs)), labels, self.coin()\n"
    )
    found = brought(text, batch_size=4, num_threads=2, device_id=0, data_dir="photos")
    assert {node.op for node in found.graph.nodes} == {
        *("readers.file", "decoders.image_random_crop", "crop_mirror_normalize"),
        "random.coin_flip",
    }
    assert not found.report.entries
    assert "CoinFlip as random.CoinFlip" in str(found.report)


CLASS = """
class Val(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, data_dir, crop):
        super().__init__(batch_size, num_threads, device_id, seed=3)
        self.read = ops.readers.File(file_root=data_dir, shard_id=args.rank, num_shards=args.world)
        self.decode = ops.decoders.Image(device="mixed")
        self.norm = ops.CropMirrorNormalize(device="gpu", crop=(crop, crop))

    def define_graph(self):
        jpegs, labels = self.read()
        return self.norm(self.decode(jpegs)), labels
"""
OPTIONS = """
import argparse
def read_it():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--crop", type=int, default=96)
    return parser.parse_args()
"""
MAIN = "if __name__ == '__main__':\n    args = read_it()\n"
GIVEN: dict[str, Any] = {"batch_size": 4, "num_threads": 2, "device_id": 0, "data_dir": "photos"}


def test_defaults_of_the_command_line_are_assumed_and_reported(brought: Any) -> None:
    found = brought(HEAD + OPTIONS + CLASS + MAIN, **GIVEN)
    assert not found.report.entries
    assert found.graph.node("crop_mirror_normalize").args["crop"] == (96, 96)
    assert found.report.assumed == {"crop": "96", "args.rank": "0", "args.world": "1"}
    assert "crop" not in brought(HEAD + OPTIONS + CLASS + MAIN, **GIVEN, crop=64).report.assumed
    parsed = OPTIONS + "args = read_it()\n"
    assert brought(HEAD + parsed + CLASS, **GIVEN, crop=64).report.is_exact


def test_what_nobody_gives_is_asked_for_with_its_flag(brought: Any) -> None:
    with pytest.raises(
        ImportFailedError, match=r"'Val' requires 'batch_size', .*--arg crop=\.\.\."
    ):
        brought(HEAD + CLASS + MAIN)
    with pytest.raises(ImportFailedError, match=r"train\.py:7: .*Pass it: --arg args\.rank="):
        brought(HEAD + CLASS + MAIN, **GIVEN, crop=64)
    args = {"rank": 0, "world": 1}
    assert brought(HEAD + CLASS + MAIN, **GIVEN, crop=64, args=args).report.is_exact


def test_lines_that_fail_while_the_pipeline_is_made_end_the_import(brought: Any) -> None:
    text = HEAD + ONE.replace("    jpegs,", "    names = open(data_dir).read()\n    jpegs,")
    with pytest.raises(ImportFailedError, match=r"train\.py:6: FileNotFoundError"):
        brought(text, data_dir="no_such_folder")


@pytest.mark.parametrize(("library", "is_known"), [("timm", True), ("no_such_timm", False)])
def test_constants_of_timm_alone_are_known(brought: Any, library: str, is_known: bool) -> None:
    text = f"from {library}.data.constants import IMAGENET_DEFAULT_MEAN\n" + HEAD + ONE
    text = text.replace("size=32", "size=1000 * IMAGENET_DEFAULT_MEAN[0]")
    if is_known:
        assert brought(text, data_dir="photos").report.is_exact
    else:
        with pytest.raises(ImportFailedError, match="Install no_such_timm"):
            brought(text, data_dir="photos")


def test_a_script_for_several_processes_is_read_as_one_and_the_report_says_so(
    brought: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharded = ONE.replace("=data_dir)", "=data_dir, shard_id=rank, num_shards=world)")
    text = (
        HEAD + "import os\nrank = int(os.environ['RANK'])\nworld = int(os.environ['WORLD_SIZE'])\n"
    )
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setenv("WORLD_SIZE", "1")  # what the environment has was not assumed
    notes = brought(text + sharded, data_dir="photos").report.notes
    assert "read as one process with one GPU: the script uses RANK" in notes
    assert "one process" not in str(brought(HEAD + ONE, data_dir="photos"))


def test_functions_of_torch_for_ranks_are_named_where_they_are_called(brought: Any) -> None:
    pytest.importorskip("torch")
    sharded = ONE.replace("=data_dir)", "=data_dir, num_shards=distributed.get_world_size())")
    notes = brought(HEAD + "from torch import distributed\n" + sharded, data_dir="x").report.notes
    said = "read as one process with one GPU: the script uses torch.distributed.get_world_size"
    assert said in notes
