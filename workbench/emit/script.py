"""graph -> a standalone script: the pipeline, a function that builds it, and a command line.

The script needs DALI alone. ``build_pipeline(data, batch_size, num_threads, device, seed)`` returns
the built pipeline, without ``data`` where the graph names its files itself; run as a program the
script prints imgs/s. A graph of several pipelines has ``build_pipelines``, which returns a list,
and ``in_turns``, which gives the batches of these.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.arguments import checked
from workbench.catalog import load_catalog
from workbench.catalog.spec import CATALOG, Catalog
from workbench.emit.core.code import Code
from workbench.emit.core.python import INDENT
from workbench.emit.templates.cores import BUILD_ON_THESE_CORES, CORES_FUNCTION, CORES_IMPORTS
from workbench.emit.templates.template_parts import (
    fill_template,
    pipeline_parts,
    shard_seed,
)
from workbench.graph.execution.dataset_parameters import sequence_length
from workbench.graph.execution.pipelines import SHARD_SEED
from workbench.graph.model import GRAPH, Graph
from workbench.graph.resolved import ResolvedGraph, resolve

_HEAD = '''\
"""$title

Usage: python pipe.py« --data DIR» [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
${os}import time
$imported
from nvidia.dali import fn$math, pipeline_def$imports
${policies}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted

$constants


$finder$definition


'''

_ONE = '''\
def build_pipeline(
«    data: str,»
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` says where images are decoded: cpu or mixed."""
    pipe = $function(
«        data,»
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=$device_id,
        prefetch_queue_depth=$prefetch,
${pipeline_seed}    )
    pipe.build()
    return pipe


'''

_SEVERAL = f'''\
{CORES_FUNCTION}def build_pipelines(
«    data: str,»
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> list[Pipeline]:
    """Return the built pipelines, which read a shard of the data each: see ``in_turns``.

    ``num_threads`` are those of each; ``device`` says where images are decoded: cpu or mixed.
    """
    pipes = []
    for shard in range(PIPELINES):
        pipe = $function(
«            data,»
            device,
            seed + {SHARD_SEED:_} * shard,  # shards draw apart
            shard,
            PIPELINES,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=$device_id,
            prefetch_queue_depth=$prefetch,
${{shard_seed}}        )
{BUILD_ON_THESE_CORES}        pipes.append(pipe)
    return pipes


def in_turns(pipes: Sequence[Pipeline]) -> Iterator[tuple[Any, ...]]:
    """Batch k is that of pipeline k mod N; meanwhile all of them work on their next ones."""
    for pipe in pipes:
        pipe.schedule_run()
    for pipe in cycle(pipes):
        yield pipe.share_outputs()
        pipe.release_outputs()
        pipe.schedule_run()


'''

_MAIN = """\
def main() -> None:
    parser = argparse.ArgumentParser(description="Run the pipeline and print imgs/s.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    pipe = build_pipeline(«args.data, »args.batch_size, args.threads, args.device)
    for _ in range(5):  # the first batches fill queues and allocate memory
        pipe.run()
    start = time.perf_counter()
    for _ in range(args.batches):
        pipe.run()
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


if __name__ == "__main__":
    main()
"""

_MAIN_SEVERAL = (
    _MAIN.replace("Run the pipeline and", "Run the pipelines and")
    .replace("default=NUM_THREADS)", 'default=NUM_THREADS, help="of each")')
    .replace("    pipe = build_pipeline(", "    pipes = build_pipelines(")
    .replace(
        "    for _ in range(5)", "    batches = in_turns(pipes)\n    for _ in range(5 * PIPELINES)"
    )
    .replace("        pipe.run()", "        next(batches)")
)

_IMPORTED_SEVERAL = f"""\
from collections.abc import Iterator, Sequence
{CORES_IMPORTS[0]}from itertools import cycle
{CORES_IMPORTS[1]}from typing import Any
"""


@checked(graph=GRAPH, catalog=CATALOG)
def emit_script(graph: Graph, catalog: Catalog | None = None) -> Code:
    """The graph as a standalone script, and for each node the lines (from 1) that make it.

    ``catalog`` is that of the installed DALI by default. Raises GraphFaultsError where the graph
    cannot run::

        script = wb.emit_script(graph)
        assert "fn.rotate(" in script.text
        assert len(script.lines["rotate"]) >= 1
    """
    return script_of(resolve(graph, load_catalog() if catalog is None else catalog))


def script_of(resolved: ResolvedGraph) -> Code:
    """``emit_script`` of a graph that has been resolved."""
    part = resolved.graph
    if part.settings.pipelines == 1:
        parts = pipeline_parts(resolved)
        return _counted(part, fill_template(_HEAD + _ONE + _MAIN, parts, imported=parts.any))
    parts = pipeline_parts(resolved, sharded=True, taken=("shard_id", "num_shards"))
    template = _HEAD + _SEVERAL + _MAIN_SEVERAL
    seed = shard_seed(parts, "shard", INDENT * 3)
    more = {"os": parts.with_os, "imported": _IMPORTED_SEVERAL, "shard_seed": seed}
    return _counted(part, fill_template(template, parts, **more))


def _counted(graph: Graph, code: Code) -> Code:
    """The script of a graph that reads videos counts sequences, and the frames in them."""
    frames = sequence_length(graph)
    if not frames:
        return code
    image_rate = '    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")'
    rates = [
        "    rate = args.batches * args.batch_size / seconds",
        f'    print(f"{{rate:.1f}} sequences/s, {{rate * {frames}:.0f}} frames/s")',
    ]
    text = code.text.replace(image_rate, "\n".join(rates))
    return replace(
        code, text=text.replace("the pipeline and print imgs/s.", "it and print sequences/s.")
    )
