from __future__ import annotations

from pathlib import Path

from hypothesis import given

from tests.helpers import arrays_of, import_script, same
from tests.region_graphs import BATCH, CATALOG, REGION_GRAPHS, two_datasets
from workbench.emit import emit_script
from workbench.engine.runner import Runner
from workbench.graph import Graph, check_graph, dump_graph, load_graph

BATCHES = (0, 1, 7)


@given(graph=REGION_GRAPHS)
def test_the_preview_is_the_script_at_any_batch(
    graph: Graph, photos: Path, tmp_path_factory: object
) -> None:
    assert check_graph(graph, CATALOG) == ()
    assert load_graph(dump_graph(graph)) == graph
