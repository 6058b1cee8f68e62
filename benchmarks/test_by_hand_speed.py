"""Exported programs compared with handwritten ones, in interleaved rounds of one run.

The photos make whole batches. The table is in ``workbench/emit/targets/README.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks.comparison import add_comparison, bare, loaded
from benchmarks.conftest import Table
from tests.emit.targets.test_execute import require, some_of
from tests.emit.test_by_hand import ANNOTATED, RECIPES, by_hand
from tests.helpers import import_script
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.graph import load_recipe

pytestmark = pytest.mark.timeout(1200)
SIZES = {"imagenet-train": 32, "simclr": 32}
"""Recipe -> batch size; of recipes with annotations it is 8."""
THREADS = 2
Makers = tuple[Callable[[], Iterator[int]], Callable[[], Iterator[int]]]
"""Builders of the exported stream and of the handwritten one."""


def script(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    options = {"batch_size": size, "num_threads": THREADS, "seed": 42}

    def written() -> Any:
        pipe = theirs.train_pipeline(data, "cpu", device_id=None, prefetch_queue_depth=2, **options)
        pipe.build()
        return pipe

    return lambda: bare(ours.build_pipeline(data, **options)), lambda: bare(written())


def pytorch(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    def exported() -> Any:
        return ours.Loader(ours.build_pipeline(data, size, THREADS, resumable=True))

    return lambda: loaded(exported()), lambda: loaded(theirs.Loader(data, size, THREADS))


def lightning(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    def trained(module: Any) -> Iterator[int]:
        place = SimpleNamespace(root_device=SimpleNamespace(index=None))
        module.trainer = SimpleNamespace(global_rank=0, world_size=1, strategy=place)
        return loaded(module.train_dataloader())

    options = {"batch_size": size, "num_threads": THREADS}
    return (
        lambda: trained(ours.PipelineData(data, **options)),
        lambda: trained(theirs.DataModule(data, **options)),
    )


def jax(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    return (
        lambda: loaded(ours.Loader(data, size, THREADS)),
        lambda: loaded(theirs.Loader(data, size, THREADS)),
    )


def tensorflow(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    return (
        lambda: loaded(ours.Loader(ours.build_pipeline(data, size, THREADS))),
        lambda: loaded(theirs.Loader(data, size, THREADS)),
    )


def dynamic(ours: ModuleType, theirs: ModuleType, data: str, size: int) -> Makers:
    return (
        lambda: evaluated(ours.batches(data, size)),
        lambda: evaluated(theirs.batches(data, size)),
    )


TARGETS = {f.__name__: f for f in (script, pytorch, lightning, jax, tensorflow, dynamic)}
CASES = [(target, recipe) for target in TARGETS for recipe in RECIPES] + [
    ("script", recipe) for recipe in ANNOTATED if recipe not in RECIPES
]


def evaluated(batches: Iterator[Any]) -> Iterator[int]:
    for batch in batches:
        for output in batch:
            output.evaluate()
        yield batch[0].batch_size


@pytest.fixture(scope="module", autouse=True)
def _one_thread_pool() -> None:
    from nvidia.dali.experimental import dynamic as ndd

    ndd.set_num_threads(THREADS)


@pytest.mark.parametrize(("target", "recipe"), CASES)
def test_an_export_is_as_fast_as_what_is_written_by_hand(
    target: str,
    recipe: str,
    photos: Path,
    shapes: Path,
    tmp_path: Path,
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if target != "script":
        require(target)
    if target == "dynamic" and recipe != "imagenet-train":
        pytest.skip("dynamic mode holds neither blocks nor targets that follow")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    ours = import_script(export(load_recipe(recipe), target, load_catalog()).main.text, tmp_path)
    theirs = import_script(by_hand(recipe, target), tmp_path)
    size = SIZES.get(recipe, 8)
    data = shapes / "coco" / "annotations.json"
    if recipe not in ANNOTATED:
        data = some_of(photos, 4 * size, tmp_path / "photos")
    makers = TARGETS[target](ours, theirs, str(data), size)
    streams = dict(zip(("exported", "by hand"), makers, strict=True))
    add_comparison(table, f"{target}, {recipe}", streams)
