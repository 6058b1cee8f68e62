"""torchvision's side, run on a stand-in with its names and signatures where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import with_settings
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.peers import OPERATORS, PEERS
from workbench.bench.peers.program import program_of
from workbench.catalog import Catalog, load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.remove import remove_nodes

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=2, budget=0.0)
ON_CPU = [name for name, peer in PEERS.items() if peer.needs[1] == "torchvision"][:2]

pytestmark = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: `make targets`"
)


@pytest.fixture(autouse=True)
def _torchvision(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On the path of this process and, through it, of the workers."""
    import sys

    if find_spec("torchvision") is None:
        monkeypatch.syspath_prepend(Path(__file__).with_name("standin"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


def without_colour() -> Graph:
    """Two views whose colours stay: torchvision turns hue and contrast otherwise than DALI."""
    graph = load_recipe("two-view")
    colours = [node.id for node in graph.nodes if node.op == "color_twist"]
    return remove_nodes(graph, load_catalog(), colours)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "graph"),
    [(ON_CPU[0], load_recipe("imagenet-train")), (ON_CPU[1], without_colour())],
    ids=["imagenet-train", "two-view"],
)
def test_it_runs_in_turns_with_dali_at_the_same_work(name: str, graph: Graph, photos: Path) -> None:
    graph = with_settings(graph, batch_size=8, num_threads=2)
    report = Benchmark(graph, str(photos), ("cpu",), measurement_config=SHORT, peers=(name,)).run()
    ours, _, theirs = report.measurements
    assert (ours.reason, theirs.reason) == ("", "")
    assert theirs.batch_size == ours.batch_size == 8
    assert str(theirs.threads) in report.extra["peers"][name]["workers"]
    assert all(one.samples == 8 * one.batches for one in theirs.rounds)
    told = report.extra["peers"][name]["difference"]
    assert told["mean"] < (0.05 if "floats" in told["unit"] else 3.0)
    assert told["images"] == 64


def test_every_operator_that_is_offered_is_there() -> None:
    from workbench.bench.peers.torchvision import operators

    assert set(operators()) == set(OPERATORS)


@pytest.mark.parametrize("kind", ["PIL", "decode_jpeg"])
def test_every_operator_takes_what_a_graph_may_give_it(kind: str, photos: Path) -> None:
    from workbench.bench.peers.torchvision import DECODERS, operators, tensor_of

    image = DECODERS[kind](str(next(photos.rglob("*.jpg"))), False)
    high, wide = tensor_of(image).shape[-2:]
    table = operators()
    kept = {
        "rotate": {"angle": 30.0, "keep_size": True},
        "color_twist": {"brightness": 1.2, "contrast": 0.9, "hue": 200.0, "saturation": 1.1},
        "saturation": {"saturation": 0.5},
        "brightness": {"brightness": 1.5},
        "brightness_contrast": {"brightness": 1.5, "contrast": 0.5},
        "flip": {"horizontal": 1.0, "vertical": 1.0},
        "gaussian_blur": {"sigma": 1.3},
    }
    for op, arguments in kept.items():
        assert tensor_of(table[op](image, **arguments)).shape == (3, high, wide), op
    sized: dict[str, dict[str, Any]] = {
        "random_resized_crop": {"size": (24.0, 32.0), "random_area": (0.2, 0.8)},
        "resize": {"size": (24.0, 32.0)},
        "crop": {"crop": (24.0, 32.0), "crop_pos_x": 0.0},
        "crop_mirror_normalize": {"crop": (24.0, 32.0), "mirror": 1.0, "mean": (1.0,) * 3},
    }
    for op, arguments in sized.items():
        assert tensor_of(table[op](image, **arguments)).shape == (3, 24, 32), op
    assert set(kept) | set(sized) == set(OPERATORS)
    upright = table["crop_mirror_normalize"](image, dtype="FLOAT16", output_layout="HWC")
    assert (upright.shape, str(upright.dtype)) == ((high, wide, 3), "torch.float16")


def test_the_shorter_side_is_resized_as_dali_does(photos: Path) -> None:
    from workbench.bench.peers.torchvision import decode_pil, operators

    image = decode_pil(str(next(photos.rglob("*.jpg"))), False)
    assert min(operators()["resize"](image, resize_shorter=50.0).size) == 50


def test_decoding_on_the_gpu_asks_for_whole_batches(
    photos: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls; the pixels are compared where there is a GPU."""
    import torch
    from torchvision import io

    from workbench.bench.peers.torchvision import CudaWorkload, decode_cuda, decode_tensor

    asked: list[tuple[int, str]] = []

    def decode(encoded: list[Any], mode: Any, device: str) -> list[Any]:
        asked.append((len(encoded), device))
        return [io.decode_image(one, mode) for one in encoded]

    monkeypatch.setattr(io, "decode_jpeg", decode)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    files = [str(path) for path in sorted(photos.rglob("*.jpg"))[:3]]
    program = program_of(load_recipe("imagenet-train"), catalog, OPERATORS, "a peer")
    work = CudaWorkload(program, files, batch_size=4, workers=2)
    assert [work.run(), work.run()] == [4, 4]
    assert asked == [(4, "cuda")] * 2
    work._pool.shutdown(cancel_futures=True)
    first = decode_cuda(files, gray=False)[0]
    assert torch.equal(first, decode_tensor(files[0], False))
