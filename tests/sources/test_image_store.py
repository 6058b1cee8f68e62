"""What a process keeps of its images: when it is asked for, and how long."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.sources.in_memory import COUNT, PIXELS, Photos, a_graph
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.run.runner import Runner
from workbench.errors import DataError
from workbench.sources import Dataset, list_samples, open_dataset, require_dataset
from workbench.sources.kinds._image_store import _remove_abandoned


def test_nothing_is_read_before_it_is_wanted(engine: Engine) -> None:
    data = Photos()
    dataset = open_dataset(data)
    assert set(data.asked) == {0}
    assert len(list(list_samples(dataset))) == COUNT
    assert set(data.asked) == {0}
    found = Runner(load_catalog()).run(
        graph := a_graph(dataset, batch_size=2), dataset, 0, 2, [graph.outputs["images"]]
    )
    assert len(found.samples) == 2
    assert len(set(data.asked)) <= 1 + 2 * 4  # what DALI reads ahead, too
    again = len(data.asked)
    Runner(load_catalog()).run(graph, dataset, 0, 2, [graph.outputs["images"]])
    assert len(data.asked) == again


def test_what_is_kept_goes_with_the_dataset() -> None:
    dataset = open_dataset(PIXELS)
    (folder,) = (str(place) for place, _ in dataset.items)
    copy = replace(dataset, title="mine")
    assert (os.stat(folder).st_mode & 0o777) == 0o700
    del dataset
    gc.collect()
    assert os.path.isdir(folder)
    del copy
    gc.collect()
    assert not os.path.exists(folder)
    gone = Dataset("memory", items=((folder, COUNT),), title="mine")
    with pytest.raises(DataError, match="mine: the process that held these images has ended"):
        require_dataset(gone)


def test_what_a_killed_process_left_is_removed() -> None:
    program = (
        "import os, numpy as np\nfrom workbench.sources import open_dataset\n"
        "d = open_dataset(np.zeros((1, 4, 4, 3), np.uint8))\n"
        "print(d.items[0][0], flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    folder = done.stdout.strip()
    assert os.path.isdir(folder)
    _remove_abandoned()
    assert not os.path.exists(folder)
