from __future__ import annotations

import numpy as np

from tests.helpers import chain_graph, import_script, with_settings
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.resources.batch_store import Batch, BatchStore


def batch(size: int) -> Batch:
    return Batch([np.zeros(size, np.uint8)])


def test_host_arrays() -> None:
    arrays = [np.zeros((4, 2, 3), np.float32), np.zeros((1, 2, 3), np.float32)]
    held = Batch(arrays)
    assert (len(held), held.shapes, held.dtype, held.layout) == (
        2,
        [(4, 2, 3), (1, 2, 3)],
        "float32",
        "",
    )
    assert held.nbytes == sum(array.nbytes for array in arrays)
    assert held.arrays() is arrays


def test_dalis_tensors(photos, tmp_path) -> None:  # type: ignore[no-untyped-def]
    graph = chain_graph("resize", "cast", resize={"size": (8, 6)}, cast={"dtype": "FLOAT16"})
    script = import_script(
        emit_script(with_settings(graph, batch_size=3), load_catalog()).text, tmp_path
    )
    held = Batch(script.build_pipeline(str(photos)).run()[0])
    assert (len(held), held.shapes, held.dtype) == (3, [(8, 6, 3)] * 3, "float16")
    assert held.layout == "HWC"
    assert held.nbytes == 3 * 8 * 6 * 3 * 2
    assert [a.shape for a in held.arrays()] == held.shapes


def test_the_least_recently_used_goes_first() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 250))
    for key in "abc":
        store.put(key, [batch(100)])
        assert store.get("a") is not None, "used each time, so it stays"
    assert store.get("b") is None
    assert store.get("c") is not None
    assert store.used == {"cpu": 200, "gpu": 0}


def test_one_that_is_too_large_is_kept_alone() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 100))
    store.put("a", [batch(50)])
    store.put("b", [batch(500)])
    assert store.get("a") is None
    assert store.get("b") is not None


def test_the_same_key_replaces() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 1000))
    store.put("a", [batch(100)])
    store.put("a", [batch(10), batch(20)])
    assert store.used["cpu"] == 30
    store.clear()
    assert store.get("a") is None
    assert store.used == {"cpu": 0, "gpu": 0}


def test_each_device_has_its_own_limit() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 100))
    store.put("a", [batch(90)])
    store.put("b", [Batch([np.zeros(90, np.uint8)], "gpu")])
    assert store.get("a") is not None
    assert store.get("b") is not None
