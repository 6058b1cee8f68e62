"""The preview shows the samples alone that got an augmentation, and finds a batch with one."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import chain_graph, with_settings
from tests.ui.screen import Make

GRAPH = with_settings(
    chain_graph("resize", "trivial_augment_wide", resize={"size": (48.0, 48.0)}),
    batch_size=4, num_threads=2, seed=7,
)  # fmt: skip


def test_the_next_batch_with_an_augmentation_is_shown(make: Make, photos: Path) -> None:
    model, screen = make(photos, GRAPH)
    screen.wait_ready()
    offered = [each["key"] for each in screen.header["augmentations"]]
    seen = {key for tile in screen.header["tiles"] for key in tile["augmentations"]}
    for tile in screen.header["tiles"]:
        (key,), (text,) = tile["augmentations"], tile["applied"]
        assert text.split()[0] == key.removeprefix("trivial_augment_wide.")
    wanted = next(key for key in offered if key not in seen)
    model.receive("preview", "shown_augmentations", [wanted, "resize.rotate", "gone.rotate"])
    assert screen["preview", "shown_augmentations"] == [wanted], "what the graph has"
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: s["preview", "batch"] > 0, "a batch with one")
    batch = screen["preview", "batch"]
    assert screen["bar", "message"] == f"Batch {batch} has a sample of {wanted}."
    screen.wait(lambda s: s.header["batch"] == batch, "its picture")
    assert any(wanted in tile["augmentations"] for tile in screen.header["tiles"])
    model.receive("preview", "shown_augmentations", [])
    model.act("preview", {"do": "find_batch", "back": False})
    assert "an augmentation to look for" in screen["bar", "message"]
