"""Templates of exported programs: their imports, their values and the lines of nodes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tests.helpers import CATALOG
from workbench.emit.targets import export, target_names
from workbench.emit.templates.rendering import lines_in, render, sorted_imports
from workbench.graph import load_recipe


def test_imports_are_sorted_and_joined() -> None:
    text = "import time\nfrom b import c\nfrom b import Z, MAX\nimport numpy as np\n"
    assert sorted_imports(text, ["import abc", "import time"], ["from b import c, a"]) == (
        "import abc\nimport time\n\nimport numpy as np\nfrom b import MAX, Z, a, c\n"
    )
    assert sorted_imports("\n\n") == ""


def test_imports_are_as_ruff_sorts_them(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    lines = """
        from nvidia.dali.plugin.pytorch import DALIGenericIterator
        from nvidia.dali import types
        from nvidia.dali.data_node import DataNode
        from nvidia.dali import fn, pipeline_def
        from PIL import Image
        from IPython.display import display
        import torch.nn.functional as F
        import numpy as np
        from torch import Tensor, nn
        from collections.abc import Sequence, Iterator
        from typing import Any
        import os
        import argparse
        from torch.nn.parallel import DistributedDataParallel
        from albumentations import Crop
    """
    text = sorted_imports("\n".join(line.strip() for line in lines.splitlines()))
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "I001", "--diff"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("script.py.j2", {"parameters": []})


@pytest.mark.parametrize("target", target_names())
def test_text_of_a_graph_is_never_part_of_a_template(target: str) -> None:
    about = "{{ title }} {% if several %} {# none #}"
    graph = replace(load_recipe("imagenet-train"), about=about)
    text = "".join(code.text for code in export(graph, target, CATALOG, plain=True).files.values())
    assert about in text


def test_the_lines_of_nodes_are_found_in_the_whole() -> None:
    assert lines_in("a\nb\nc\nd\n", "c\nd", {"node": range(1, 2)}) == {"node": range(4, 5)}
    with pytest.raises(AssertionError, match="leaves out"):
        lines_in("a\n", "b", {"node": range(1)})
