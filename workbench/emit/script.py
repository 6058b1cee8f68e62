"""Convert a graph to a standalone script with a build function and a command line.

The script needs only DALI. ``build_pipeline(data, batch_size, num_threads, device, seed)`` returns
the built pipeline; the parameter ``data`` is missing if the graph names its files itself. Run as a
program, the script prints images/s. A graph with several pipelines has ``build_pipelines``, which
returns a list, and ``in_turns``, which yields the batches of these pipelines.
"""

from __future__ import annotations

from workbench.arguments import checked
from workbench.catalog import load_catalog
from workbench.catalog.spec import CATALOG, Catalog
from workbench.emit.core.code import Code
from workbench.emit.templates.rendering import render_program
from workbench.emit.templates.template_parts import pipeline_parts
from workbench.graph.execution.dataset_parameters import sequence_length
from workbench.graph.model import GRAPH, Graph
from workbench.graph.resolved import ResolvedGraph, resolve


@checked(graph=GRAPH, catalog=CATALOG)
def emit_script(graph: Graph, catalog: Catalog | None = None) -> Code:
    """Return the graph as a standalone script, with the line numbers (from 1) of each node.

    ``catalog`` is by default that of the installed DALI. Raises GraphFaultsError if the graph
    cannot run::

        script = wb.emit_script(graph)
        assert "fn.rotate(" in script.text
        assert len(script.lines["rotate"]) >= 1
    """
    return script_of(resolve(graph, load_catalog() if catalog is None else catalog))


def script_of(resolved: ResolvedGraph) -> Code:
    """Return a resolved graph as a standalone script."""
    graph = resolved.graph
    several = graph.settings.pipelines > 1
    parts = pipeline_parts(
        resolved, sharded=several, taken=("shard_id", "num_shards") if several else ()
    )
    return render_program("script.py.j2", parts, frames=sequence_length(graph))
