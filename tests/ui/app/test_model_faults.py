"""The view-model where a worker, a node or the preview fails, rests or ends."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.ui.screen import Make, Ready, edit, read_picture
from workbench.bench.measuring.worker_group import WorkerGroup
from workbench.engine.resources.machine import describe_machine
from workbench.errors import EngineClosedError
from workbench.graph import Graph, Port
from workbench.graph.edits.edit import set_setting


def test_trying_again_is_offered_where_it_can_help(make: Make, tmp_path: Path) -> None:
    model, screen = make(tmp_path)  # no images yet
    assert screen["preview", "retryable"]
    (tmp_path / "a.jpg").write_bytes(b"soon")
    model.act("preview", {"do": "retry"})
    assert screen["data", "summary"]["error"] == ""
    edit(model, "set", node="rotate", arg="fill_value", value="blue", group="")
    assert "blue" in screen["preview", "stale"]
    assert not screen["preview", "retryable"]
    assert "blue" in screen["canvas", "stale"]


def test_what_dali_refuses_is_a_fault_at_its_node(ready: Ready) -> None:
    model, screen = ready
    picture = screen.picture
    model.act("canvas", {"do": "add", "op": "crop", "after": "resize"})
    edit(model, "set", node="crop", arg="out_of_bounds_policy", value="error", group="")
    edit(model, "set", node="crop", arg="crop", value=[500, 500], group="")
    screen.wait(lambda s: s.node("crop")["fault"], "a fault at crop")
    screen.wait(lambda s: s["preview", "stale"], "the picture is said to be old")
    screen.wait(lambda s: [f["node"] for f in s["bar", "faults"][:1]] == ["crop"], "it is listed")
    model.act("canvas", {"do": "remove", "nodes": ["crop"]})
    screen.wait(lambda s: s["preview", "stale"] == "", "a present picture")
    assert (read_picture(picture)[1] == read_picture(screen.picture)[1]).all()


def test_mixed_without_a_gpu_is_refused_with_the_reason(make: Make) -> None:
    if not describe_machine().no_gpu:
        pytest.skip("this machine has a GPU")
    model, screen = make()
    assert screen["bar", "devices"][1]["disabled"]
    model.receive("bar", "device", "mixed")
    assert "GPU" in screen["bar", "message"]
    assert screen["bar", "device"] == "cpu"
    model.set_graph(set_setting(model.graph, device="mixed"))
    assert "GPU" in screen["preview", "stale"]
    assert 'DEVICE = "mixed"' in screen["code", "source"]  # can be shipped, not shown
    (fault,) = screen["bar", "faults"]
    assert fault["fixes"] == ["Run everything on the CPU"]


def test_a_node_on_a_gpu_that_is_not_there_is_named_with_a_way_back(make: Make) -> None:
    if not describe_machine().no_gpu:
        pytest.skip("this machine has a GPU")
    model, screen = make()
    screen.wait_ready()
    picture = screen.picture
    model.set_graph(model.graph.replace_node(replace(model.graph.node("rotate"), device="gpu")))
    (fault,) = screen["bar", "faults"]
    assert (fault["node"], fault["fixes"]) == ("rotate", ["Run everything on the CPU"])
    assert "GPU" in screen.node("rotate")["fault"]
    assert "runs on the GPU" in screen["preview", "stale"]
    model.receive("inspector", "effect_open", True)
    assert screen["inspector", "effect_stale"]
    assert "runs on the GPU" in screen["inspector", "effect_blocked"]
    assert model.background.requested_key("effect") is None
    fix = {"node": "rotate", "arg": "device", "fix": "Run everything on the CPU"}
    model.act("bar", {"do": "fix", **fix})
    screen.wait(lambda s: s["preview", "stale"] == "", "a present picture")
    assert model.graph.node("rotate").device is None
    assert screen.picture
    assert picture


def test_a_killed_worker_is_told_and_the_next_change_works(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    picture = screen.picture
    entered, killed = threading.Event(), threading.Event()
    real = model.engine._run

    def call(*arguments: Any, **options: Any) -> Any:
        entered.set()
        killed.wait(30)
        return real(*arguments, **options)

    monkeypatch.setattr(model.engine, "_run", call)
    edit(model, "set", node="rotate", arg="angle", value=45, group="")
    assert entered.wait(30)
    monkeypatch.undo()
    # Stopped, it is surely in the middle of the call when it is killed.
    pid = model.engine.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    killed.set()
    screen.wait(lambda s: s["bar", "status"]["state"] == "busy", "computing")
    os.kill(pid, signal.SIGKILL)
    screen.wait(lambda s: s["bar", "status"]["state"] == "dead", "the worker's end")
    screen.wait(lambda s: "SIGKILL" in s["preview", "stale"], "why the picture is an old one")
    assert screen.picture == picture
    assert model.graph.node("rotate").args["angle"] == 45
    edit(model, "set", node="rotate", arg="angle", value=46, group="")
    screen.wait_ready()
    assert screen.picture != picture
    assert model.engine.pid != pid


def test_an_idle_worker_that_is_killed_is_not_missed(ready: Ready) -> None:
    model, screen = ready
    process = model.engine._process
    assert process is not None
    process.popen.kill()
    process.popen.wait(30)
    picture = screen.picture
    edit(model, "set", node="rotate", arg="angle", value=45, group="")
    screen.wait_other_picture(picture)


@pytest.mark.thorough
def test_a_worker_killed_in_a_measurement_is_a_row_with_the_reason(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[WorkerGroup] = []
    start = WorkerGroup.start
    monkeypatch.setattr(
        WorkerGroup, "start", lambda group, report: (groups.append(group), start(group, report))[1]
    )
    model, screen = make()
    model.receive("speed", "batch_size", 4)
    model.receive("speed", "effort", "quick")
    model.act("speed", {"do": "measure", "what": "compare"})
    screen.wait(lambda s: "round" in s["speed", "message"], "the rounds")
    (pid,) = groups[0].pids
    os.kill(pid, signal.SIGKILL)
    screen.wait(lambda s: not s["speed", "running"], "the end")
    bars = [bar for bar in screen["speed", "compare"]["bars"] if bar["kind"] == "cpu"]
    assert [bar["median"] is None for bar in bars].count(True) == 1
    assert sum("SIGKILL" in bar["reason"] for bar in bars) == 1
    model.act("bar", {"do": "undo"})
    screen.wait_ready()


def test_a_crash_of_the_preview_itself_is_told(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready

    def broken(*_: Any) -> Any:
        raise ValueError("a bug")

    monkeypatch.setattr("workbench.ui.jobs.previewer.render_batch", broken)
    model.receive("preview", "batch", 3)
    screen.wait(lambda s: "a bug" in s["preview", "stale"], "the fault")
    monkeypatch.undo()
    model.receive("preview", "batch", 2)
    screen.wait_ready()


def test_closing_ends_the_worker_for_good(ready: Ready, tmp_path: Path) -> None:
    model, screen = ready
    pid = model.engine.pid
    assert pid
    model.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    edit(model, "set", node="rotate", arg="angle", value=45, group="")
    with pytest.raises(EngineClosedError):
        model.share(tmp_path / "shared.png")
    model.act("bar", {"do": "share"})
    assert model.engine.pid is None, "nothing starts a worker that nobody would end"
    assert list(tmp_path.iterdir()) == []
    assert screen["bar", "status"]["state"] == "ready"


def test_resting_is_no_fault_and_the_next_change_wakes_it(ready: Ready) -> None:
    model, screen = ready
    model.release_worker()
    assert model.engine.pid is None
    picture = screen.picture
    model.receive("preview", "batch", 1)
    screen.wait_other_picture(picture)
    assert screen["bar", "message"] == ""


@pytest.mark.parametrize("op", ["crop", "crop_mirror_normalize"])
def test_a_crop_larger_than_the_image_offers_padding(make: Make, photos: Path, op: str) -> None:
    graph = getattr(wb.read(photos).decode(), op)(crop=(4000, 4000)).with_settings(batch_size=4)
    model, screen = make(graph=graph)
    screen.wait(lambda s: s["bar", "faults"] and not s["bar", "faults"][0]["warning"], "the fault")
    fault, *warnings = screen["bar", "faults"]
    assert fault["node"] == op
    assert all(each["warning"] for each in warnings)
    assert "the window of 4000 x 4000 x 3 reaches outside the image of " in fault["message"]
    explained, _, original = fault["message"].partition("\nDALI: ")
    assert explained.endswith("or set out_of_bounds_policy to pad.")
    assert "out of bounds" in original
    assert fault["fixes"] == ["Pad outside the image"]
    assert screen["preview", "fault"] == fault
    model.act("preview", {"do": "fix", "node": op, "arg": "", "fix": fault["fixes"][0]})
    screen.wait_ready()
    assert screen["preview", "fault"] == {}
    assert model.graph.node(op).args["out_of_bounds_policy"] == "pad"


def test_masks_that_do_not_follow_the_image_are_a_fault_with_a_fix(
    make: Make, shapes: Path
) -> None:
    model, screen = make(shapes / "coco" / "annotations.json", None)
    screen.wait_ready()
    edit(model, "set", node="reader", arg="pixelwise_masks", value=True)
    output = {"source": "reader", "output": "masks", "target": "", "input": "masks", "edge": ""}
    model.act("canvas", {"do": "connect", **output})
    fault = screen["preview", "fault"]
    assert "output 'masks' does not follow the image through " in fault["message"]
    model.act("preview", {"do": "fix", "node": "reader", "arg": "", "fix": fault["fixes"][0]})
    screen.wait_ready()
    masks = model.graph.outputs["masks"]
    assert model.graph.node(masks.node).op == "follow_masks"
    assert screen["bar", "faults"] == []


@pytest.mark.parametrize(
    "block", ["if", "if label", "if size", "if comparison", "one_of", "some_of", "repeat"]
)
def test_a_graph_with_an_unknown_operator_in_a_block_is_shown_with_the_fault(
    make: Make, block: str
) -> None:
    model, screen = make(connected=False)
    op, _, condition = block.partition(" ")
    model.act("canvas", {"do": "wrap", "nodes": ["rotate"], "op": op, "condition": condition})
    text = wb.dump_graph(model.graph)
    model.act("bar", {"do": "recipe", "name": "imagenet-eval"})
    model.act("bar", {"do": "open", "text": text.replace('"op": "rotate"', '"op": "newer"')})
    assert screen["bar", "message"] == "Opened rotate-jitter."
    for node in model.graph.nodes:
        model.receive("canvas", "selected", [node.id])
        assert screen["inspector", "node"]["id"] == node.id
    assert "'newer' is not an operator" in screen["bar", "faults"][0]["message"]


def test_a_graph_without_an_image_output_is_fixed_by_a_button(make: Make) -> None:
    """A decoder is added after a new reader; the last image becomes the output otherwise."""
    model, screen = make(graph=Graph())
    model.act("canvas", {"do": "add", "op": "readers.file", "after": ""})
    for label, images in ("Add decoders.image", "decode"), ("Output rotate.output", "rotate"):
        screen.wait(lambda s: s["preview", "fault"], "nothing to show")
        assert screen["preview", "fault"]["fixes"] == [label]
        model.act("preview", {"do": "fix", "node": "", "arg": "", "fix": label})
        screen.wait_ready()
        assert model.graph.outputs["images"] == Port(images, "output")
        model.act("canvas", {"do": "add", "op": "rotate", "after": "decode"})
        model.set_graph(replace(model.graph, outputs={"labels": Port("reader", "labels")}))
