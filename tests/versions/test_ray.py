"""Shards as tasks of Ray give the same version as processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import workbench as wb
from tests.versions.test_render import a_graph, command_of, contents, write_photos
from workbench.errors import EngineError, MissingLibraryError

try:
    import ray
except ImportError:
    ray = None

needs_ray = pytest.mark.skipif(ray is None, reason="needs ray")


@needs_ray
@pytest.mark.thorough
def test_a_killed_worker_of_ray_does_not_change_a_byte(tmp_path: Path) -> None:
    data = write_photos(tmp_path / "photos", 20)
    wb.render(a_graph(data), tmp_path / "whole", copies=2, shard_size=9)
    killed: list[int] = []

    def kill(share: float, text: str) -> None:
        if share > 0.2 and not killed:
            workers = (each for each in Path("/proc").iterdir() if each.name.isdecimal())
            found = next((each for each in workers if b"ray::_render" in command_of(each)), None)
            if found is not None:
                killed.append(int(found.name))
                os.kill(killed[0], signal.SIGKILL)

    wb.render(a_graph(data), tmp_path / "v1", copies=2, shard_size=9, ray="local", on_progress=kill)
    assert killed
    assert contents(tmp_path / "v1") == contents(tmp_path / "whole")


@needs_ray
@pytest.mark.thorough
def test_an_exception_of_a_function_names_its_node_and_line(tmp_path: Path) -> None:
    @wb.node
    def darker(image):  # type: ignore[no-untyped-def]
        raise ValueError("too dark")

    graph = darker.after(a_graph(write_photos(tmp_path / "photos", 2)), "resize")
    with pytest.raises(
        EngineError, match=r"^darker: line 2 of darker, .*: too dark\. 0 of 1 shards"
    ):
        wb.render(graph, tmp_path / "v1", format="webdataset", arrays=True, ray="local")


@needs_ray
@pytest.mark.thorough
def test_an_address_without_a_cluster_is_an_error(tmp_path: Path) -> None:
    data = write_photos(tmp_path / "photos", 2)
    with pytest.raises(EngineError, match=r"There is no Ray cluster at 'auto'.*ray start --head"):
        wb.render(a_graph(data), tmp_path / "v1", ray="auto")


@pytest.mark.skipif(ray is not None, reason="ray is installed")
def test_without_ray_the_missing_package_is_named(tmp_path: Path) -> None:
    data = write_photos(tmp_path / "photos", 2)
    with pytest.raises(MissingLibraryError, match=r"ray"):
        wb.render(a_graph(data), tmp_path / "v1", ray="local")
