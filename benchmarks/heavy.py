"""Writes the graph whose speed on an H200 was measured by hand.

Random resized crop, rotate, colour twist, normalise.

python benchmarks/heavy.py GRAPH.json [BATCH THREADS LOAD]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from workbench.bench.measuring.config import adopt_config, config_of
from workbench.graph import Graph, Port, dump_graph, load_recipe


def heavy() -> Graph:
    """The colour and turn of ``rotate-jitter`` between the crop and the normalising of training."""
    jitter, train = load_recipe("rotate-jitter"), load_recipe("imagenet-train")
    resize = jitter.node("resize")
    crop = replace(train.node("crop"), id="resize", inputs=resize.inputs, seed=90)
    normalize = replace(
        train.node("normalize"),
        inputs={"data": Port("color", "output"), "mirror": Port("mirror", "output")},
    )
    graph = jitter.replace_node(crop)
    return replace(
        graph,
        name="crop-rotate-twist-normalise",
        about="A heavy chain, measured by hand on an H200 before.",
        nodes=(*(node for node in graph.nodes if node.id != "flip"), normalize),
        outputs={"images": Port("normalize", "output"), "labels": Port("reader", "labels")},
    )


def main() -> None:
    graph = heavy()
    if len(sys.argv) > 2:
        batch, threads, load = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
        config = replace(config_of(graph, "mixed"), batch_size=batch, threads=threads)
        graph = adopt_config(graph, replace(config, hw_decoder_load=load))
    Path(sys.argv[1]).write_text(dump_graph(graph))


if __name__ == "__main__":
    main()
