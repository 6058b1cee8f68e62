"""graph -> a standalone script: the pipeline, a function that builds it, and a command line.

The script needs DALI alone. ``build_pipeline(data, batch_size, num_threads, device, seed)`` returns
the built pipeline; run as a program it prints imgs/s.
"""

from __future__ import annotations

import re
from textwrap import wrap

from workbench.catalog.spec import Catalog
from workbench.emit.python import INDENT, LINE, constant
from workbench.emit.source import Emitter, Source
from workbench.graph.check import require_sound
from workbench.graph.model import Graph, ancestors, topological

IMAGES = (
    *(".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff"),
    *(".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp"),
)
"""What DALI's file reader takes for images (its ``file_filters``, without the sounds)."""

FIND_FILES = f'''\
IMAGES = (
    {", ".join(f'"{suffix}"' for suffix in IMAGES[:8])},
    {", ".join(f'"{suffix}"' for suffix in IMAGES[8:])},
)  # fmt: skip


def find_files(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders, or for one flat folder of images."""
    entries = [entry for entry in os.scandir(data) if not entry.name.startswith(".")]
    if any(entry.is_dir() for entry in entries):
        return {{"file_root": data}}
    files = sorted(e.name for e in entries if e.name.lower().endswith(IMAGES))
    return {{"file_root": data, "files": files, "labels": [0] * len(files)}}
'''

_BUILD = '''\
def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` says where images are decoded: cpu or mixed."""
    pipe = {function}(
        data,
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id={device_id},
        prefetch_queue_depth={prefetch},
    )
    pipe.build()
    return pipe
'''

_MAIN = """\
def main() -> None:
    parser = argparse.ArgumentParser(description="Run the pipeline and print imgs/s.")
    parser.add_argument("--data", required=True, help="folder of images")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    pipe = build_pipeline(args.data, args.batch_size, args.threads, args.device)
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


def emit_script(graph: Graph, catalog: Catalog) -> Source:
    """The graph as a standalone script. Raises GraphFaultsError where it cannot run."""
    require_sound(graph, catalog)
    wanted = ancestors(graph, list(graph.outputs.values()))
    ordered = [node for node in topological(graph)[0] if node.id in wanted]
    emitter = Emitter(graph, catalog, ordered, lift=True)
    body: list[str] = []
    places: dict[str, range] = {}
    for node in ordered:
        lines = emitter.node_lines(node)
        places[node.id] = range(len(body), len(body) + len(lines))
        body += lines
    finds_files = any("find_files(data)" in line for line in body)
    head = _head(graph, emitter, finds_files)
    function = function_name(graph)
    needs_gpu = any(node.device in ("gpu", "mixed") for node in ordered)
    head += ["@pipeline_def", *_signature(function)]
    returned = ", ".join(emitter.names[port] for port in graph.outputs.values())
    tail = [
        f"    return {returned}{',' if len(graph.outputs) == 1 else ''}",
        "",
        "",
        _BUILD.replace("{function}", function)
        .replace("{device_id}", "0" if needs_gpu else '0 if device == "mixed" else None')
        .replace("{prefetch}", str(graph.settings.prefetch_queue_depth)),
        "",
        _MAIN.rstrip("\n"),
        "",
    ]
    first = len(head) + 1
    return Source(
        "\n".join(head + body + tail),
        {node: range(r.start + first, r.stop + first) for node, r in places.items()},
    )


def function_name(graph: Graph) -> str:
    """The graph's name as the name of the pipeline function."""
    name = re.sub(r"[^0-9a-zA-Z]+", "_", graph.name).strip("_").lower()[:60]
    if not name or name[0].isdigit() or name == "build":  # there is a build_pipeline already
        return f"pipeline_{name}".rstrip("_")
    return f"{name}_pipeline"


def _signature(function: str) -> list[str]:
    parameters, returns = "data: str, device: str, base_seed: int", "tuple[DataNode, ...]"
    line = f"def {function}({parameters}) -> {returns}:"
    if len(line) <= LINE:
        return [line]
    return [f"def {function}(", INDENT + parameters, f") -> {returns}:"]


def _head(graph: Graph, emitter: Emitter, finds_files: bool) -> list[str]:
    settings = graph.settings
    modules = ["argparse", *(["os"] if finds_files else []), "time"]
    constants = {
        "BATCH_SIZE": str(settings.batch_size),
        "NUM_THREADS": str(settings.num_threads),
        "DEVICE": f'"{settings.device}"',
        "SEED": str(settings.seed),
        **emitter.constants,
    }
    return [
        *_docstring(graph),
        "",
        *(f"import {module}" for module in modules),
        *(["from typing import Any"] if finds_files else []),
        "",
        f"from nvidia.dali import fn, pipeline_def{', types' if _uses_types(emitter) else ''}",
        "from nvidia.dali.data_node import DataNode",
        "from nvidia.dali.pipeline import Pipeline",
        "",
        *(line for name, text in constants.items() for line in constant(name, text)),
        "",
        "",
        *([*FIND_FILES.splitlines(), "", ""] if finds_files else []),
    ]


def _docstring(graph: Graph) -> list[str]:
    text = f"{graph.name}: {graph.about}" if graph.about else graph.name
    text = "".join(c if c.isprintable() else " " for c in text[:2000]).replace('"', "'")
    lines = [line.replace("\\", "\\\\") for line in wrap(" ".join(text.split()), 85)]
    usage = "Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--threads T]"
    return ['"""' + (lines[0] if lines else "A pipeline."), *lines[1:], "", usage, '"""']


def _uses_types(emitter: Emitter) -> bool:
    return any("types." in line for node in emitter.ordered for line in emitter.node_lines(node))
