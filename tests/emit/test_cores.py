"""The cores for DALI's threads exclude those that GPUs interrupt, also in exported programs."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import import_script, with_settings
from workbench.catalog import load_catalog
from workbench.emit.script import emit_script
from workbench.emit.templates import cores
from workbench.emit.templates.cores import cores_without_interrupts
from workbench.graph import load_recipe

HERE = {0, 1, 2, 3}
LINES = {
    "a GPU with several": [
        "42: 9 0 PCI-MSIX-0000:00:06.0 0-edge nvidia",
        "43: 7 7 PCI-MSIX-0000:00:06.0 1-edge nvidia",
    ],
    "an older kernel": [
        "42: 9 0 PCI-MSI 98304-edge nvidia",
        "43: 7 7 PCI-MSI 98305-edge nvidia",
    ],
    "a disk": ["42: 9 0 PCI-MSIX-0000:00:06.0 0-edge nvme0q0"],
}


def told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: list[str], served: str
) -> set[int]:
    """The cores that are found if Linux reports interrupts."""
    head = "           CPU0       CPU1"
    (tmp_path / "interrupts").write_text("\n".join([head, "ERR: 0", *lines, ""]))
    for line in lines:
        place = tmp_path / "irq" / line.partition(":")[0] / "effective_affinity_list"
        place.parent.mkdir(parents=True)
        place.write_text(served if line.startswith("42") else "3\n")
    monkeypatch.setattr(
        cores, "Path", lambda *parts: Path(str(Path(*parts)).replace("/proc", str(tmp_path)))
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(HERE))
    return cores_without_interrupts()


@pytest.mark.parametrize(("who", "left"), zip(LINES, ({2}, {2}, set()), strict=True))
def test_the_core_of_a_gpus_first_interrupt_is_left_out(
    who: str, left: set[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert told(monkeypatch, tmp_path, LINES[who], "2\n") == HERE - left


@pytest.mark.parametrize("served", ["0-3\n", "", "9\n"])
def test_what_the_kernel_does_not_tell_leaves_all(
    served: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert told(monkeypatch, tmp_path, LINES["a GPU with several"], served) == HERE


def test_where_there_is_no_proc_all_are_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cores, "Path", lambda *parts: tmp_path.joinpath("nothing"))
    assert cores_without_interrupts() == os.sched_getaffinity(0)


def test_the_last_core_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.emit.test_cores.HERE", {2})
    assert told(monkeypatch, tmp_path, LINES["a GPU with several"], "2\n") == {2}


def test_a_program_builds_on_these_and_goes_on_on_all(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = os.sched_getaffinity(0)
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=4, pipelines=2)
    script = import_script(emit_script(graph, load_catalog()).text, tmp_path)
    monkeypatch.setattr(script, "cores_without_interrupts", lambda: {min(every)})
    seen = []
    build = script.Pipeline.build

    def building(pipe: Any) -> None:
        seen.append(os.sched_getaffinity(0))
        if failing:
            raise RuntimeError("no memory")
        build(pipe)

    monkeypatch.setattr(script.Pipeline, "build", building)
    make = script.imagenet_eval_pipeline

    def on_cpu(data: str, device: str, *args: object, **settings: object) -> object:
        return make(data, "cpu", *args, **{**settings, "device_id": None})

    monkeypatch.setattr(script, "imagenet_eval_pipeline", on_cpu)
    for device, where in (("mixed", {min(every)}), ("cpu", every)):
        for failing in (False, True):
            seen.clear()
            with pytest.raises(RuntimeError) if failing else nullcontext():
                script.build_pipelines(str(photos), device=device)
            assert seen == (1 if failing else 2) * [where]
            assert os.sched_getaffinity(0) == every
