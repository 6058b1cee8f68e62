"""Samples of some classes: what is asked for, and the batch that has one."""

from pathlib import Path

from tests.ui.hosts import small
from tests.ui.screen import Make, Screen
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_arg


def labels(screen: Screen) -> list[str]:
    return [tile["class_name"] for tile in screen.header["tiles"]]


def test_the_batch_with_a_class_is_found_in_both_directions(make: Make, photos: Path) -> None:
    graph = small()
    reader = graph.sources[0].id
    graph = set_arg(graph, load_catalog(), reader, "random_shuffle", False)
    model, screen = make(photos, graph)
    screen.wait_ready()
    names = sorted(folder.name for folder in photos.iterdir())
    assert labels(screen) == [names[0]] * 4  # files are read sorted by class

    model.act("preview", {"do": "find_batch", "back": False})
    assert "All samples are shown" in screen["bar", "message"]
    model.act("data", {"do": "show_class", "name": names[1]})
    assert screen["preview", "shown_classes"] == [names[1]]
    assert screen["tabs", "tab"] == "preview"
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: names[1] in labels(s), "a batch with one")
    first = screen["preview", "batch"]
    assert screen.header["batch"] == first > 0
    assert f"Batch {first} has a sample of {names[1]}" in screen["bar", "message"]

    model.act("preview", {"do": "find_batch", "back": True})
    screen.wait(lambda s: "No batch before" in s["bar", "message"], "that there is none before")
    assert screen["preview", "batch"] == first

    model.receive("preview", "pinned", True)
    model.act("preview", {"do": "find_batch", "back": False})
    assert "pinned" in screen["bar", "message"]
    model.act("data", {"do": "show_class", "name": names[1]})
    assert screen["preview", "shown_classes"] == []


def test_what_is_found_too_late_is_passed_over(make: Make, photos: Path) -> None:
    model, screen = make(photos, small())
    screen.wait_ready()
    model.act("data", {"do": "show_class", "name": "none is called so"})
    screen.wait_ready()
    with model.lock:  # what is found waits for it
        model.act("preview", {"do": "find_batch", "back": False})
        assert screen["bar", "message"].startswith("Looking for a batch")
        model.receive("preview", "shown_classes", [])
    screen.wait(lambda s: s["bar", "message"] == "", "that it is no longer looked for")
    assert screen["preview", "batch"] == 0


def test_nothing_is_looked_for_without_data(make: Make, tmp_path: Path) -> None:
    model, screen = make(tmp_path, small())
    screen.wait(lambda s: s["bar", "status"]["state"] == "fault", "that there are no images")
    model.act("data", {"do": "show_class", "name": "cat"})
    model.act("preview", {"do": "find_batch", "back": False})
    assert screen["bar", "message"].startswith("Not looked for: ")
