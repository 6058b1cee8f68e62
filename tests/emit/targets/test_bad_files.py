"""An exported program reads the list that a check writes, and ends at a bad file without it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.damaged import REFUSED
from tests.emit.targets.test_commands import run
from tests.emit.targets.test_execute import require, some_of, write
from tests.thorough import one_in
from workbench.graph import load_recipe
from workbench.health import check_folder

COUNT = 99
"""Good files beside a bad one."""
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
