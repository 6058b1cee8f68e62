from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.catalog import Catalog
from workbench.engine.resources.machine import describe_machine
from workbench.graph import Graph, load_recipe
from workbench.roots import Roots
from workbench.ui.state.root_faults import root_faults
from workbench.ui.state.view_state import check_before_run


def reading(**args: Any) -> Graph:
    graph = load_recipe("rotate-jitter")
    (source,) = graph.sources
    others = [node for node in graph.nodes if node.id != source.id]
    return replace(graph, nodes=(replace(source, args=args), *others))


@pytest.mark.parametrize(
    "args",
    [
        {"file_root": "/etc"},
        {"file_root": "{root}", "files": ("a.jpg", "../b.jpg")},
        {"file_root": "{root}/way-out"},
        {"files": ("/etc/a.jpg",)},
        {"file_root": "{root}", "file_list": "/etc/passwd"},
    ],
)
def test_files_outside_are_faults_of_their_arguments(
    args: dict[str, Any], tmp_path: Path, catalog: Catalog
) -> None:
    (tmp_path / "way-out").symlink_to("/etc")
    text = {k: v.format(root=tmp_path) if isinstance(v, str) else v for k, v in args.items()}
    graph, roots = reading(**text), Roots.of([tmp_path])
    (fault,) = root_faults(graph, roots)
    assert fault.arg in args
    assert "--root" in str(fault)
    checked = check_before_run(graph, catalog, describe_machine(), roots)
    assert fault in checked.faults
    assert checked.source is None
    assert fault not in check_before_run(graph, catalog, describe_machine()).faults


def test_files_inside_are_none(tmp_path: Path) -> None:
    roots = Roots.of([tmp_path])
    for args in ({}, {"file_root": str(tmp_path), "files": ("a.jpg", "cat/b.jpg")}):
        assert list(root_faults(reading(**args), roots)) == []
