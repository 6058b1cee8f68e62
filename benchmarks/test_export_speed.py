"""Exported programs compared with their references, on the CPU and with mixed decoding.

The script against a pipeline written by hand, the PyTorch loader against the bare pipeline of the
script, and ``w.loader`` of a notebook against the exported loader. The photos make whole batches:
padding at the end of an epoch costs time and is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks import handwritten
from benchmarks.comparison import Streams, add_comparison, bare, loaded
from benchmarks.conftest import Table
from tests.emit.targets.test_execute import some_of
from tests.helpers import import_script
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine.build.in_process_loader import make_loader
from workbench.graph import load_recipe
from workbench.sources import open_datasets

RECIPE = "imagenet-train"
pytestmark = pytest.mark.parametrize(
    ("device", "size", "threads"),
    [("cpu", 32, 2), pytest.param("mixed", 64, 16, marks=pytest.mark.gpu)],
)


class Programs(NamedTuple):
    """The exported script and PyTorch program, and the arguments of their ``build_pipeline``."""

    script: Any
    torch: Any
    arguments: tuple[str, int, int, str]

    @property
    def loader(self) -> Iterator[int]:
        return loaded(self.torch.Loader(self.torch.build_pipeline(*self.arguments)))


@pytest.fixture
def compare(
    device: str, size: int, threads: int, photos: Path, tmp_path: Path, table: Table
) -> Callable[[Callable[[Programs], Streams]], None]:
    def run(streams: Callable[[Programs], Streams]) -> None:
        script, program = (
            import_script(export(load_recipe(RECIPE), target, load_catalog()).main.text, tmp_path)
            for target in ("script", "pytorch")
        )
        data = some_of(photos, 4 * size, tmp_path / "photos")
        found = streams(Programs(script, program, (str(data), size, threads, device)))
        settings = f", {device}, batch {size}, {threads} threads"
        add_comparison(table, RECIPE, found, settings, finish=_finish(device))

    return run


def _finish(device: str) -> Callable[[], object]:
    if device == "cpu":
        return lambda: None
    torch = pytest.importorskip("torch")
    return lambda: torch.cuda.synchronize()


Compare = Callable[[Callable[[Programs], Streams]], None]


def test_the_script_against_a_pipeline_by_hand(compare: Compare) -> None:
    compare(
        lambda made: {
            "exported": lambda: bare(made.script.build_pipeline(*made.arguments)),
            "by hand": lambda: bare(handwritten.build("train", *made.arguments)),
        }
    )


def test_the_loader_against_the_bare_pipeline(compare: Compare) -> None:
    pytest.importorskip("torch")
    compare(
        lambda made: {
            "PyTorch loader": lambda: made.loader,
            "pipeline": lambda: bare(made.script.build_pipeline(*made.arguments)),
        }
    )


def test_the_loader_of_a_notebook(compare: Compare) -> None:
    pytest.importorskip("torch")

    def in_kernel(made: Programs) -> Iterator[int]:
        data, size, threads, device = made.arguments
        options: dict[str, Any] = {"batch_size": size, "num_threads": threads, "device": device}
        graph = load_recipe(RECIPE)
        loader = make_loader(graph, open_datasets(data), "torch", epochs=None, **options)
        return (len(images) for images, _ in loader)

    compare(
        lambda made: {
            "w.loader": lambda: in_kernel(made),
            "exported loader": lambda: made.loader,
        }
    )
