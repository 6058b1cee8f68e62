"""Pipelines whose operators are in a slow order, as found in public code.

``python benchmarks/badly_ordered.py OUT`` writes them as graph files; with records of the optimiser
(``badly_ordered.py OUT RECORD.json ...``) it prints their gains and the median. Written from
scratch; each names where its order was found.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import workbench as wb
from workbench.catalog import load_catalog
from workbench.graph import Graph
from workbench.graph.edits.edit import start_graph

MEAN, STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)


def scaled_first() -> Graph:
    """Decode, divide by 255, then reduce (``simple_augment_train`` for the TACO data)."""
    image = start_graph(load_catalog()).images
    small = (image / 255.0).resize(size=(224.0, 224.0))
    return wb.outputs(
        images=small.crop_mirror_normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    )


def colour_first() -> Graph:
    """Colour operators at full size, then a resize (``create_train_pipeline``)."""
    share = wb.random.uniform
    graph = start_graph(load_catalog()).contrast(contrast=share(range=(0.8, 1.2)))
    graph = graph.brightness(brightness=share(range=(0.8, 1.2)))
    graph = graph.saturation(saturation=share(range=(0.8, 1.2)))
    return graph.hue(hue=share(range=(-9.0, 9.0))).resize(resize_x=224.0, resize_y=224.0)


def jitter_before_the_crop() -> Graph:
    """Colour operators at full size, then a random crop (transforms by their names)."""
    share = wb.random.uniform
    graph = start_graph(load_catalog()).brightness_contrast(
        brightness=share(range=(0.6, 1.4)), contrast=share(range=(0.6, 1.4))
    )
    graph = graph.saturation(saturation=share(range=(0.6, 1.4)))
    graph = graph.random_resized_crop(size=(224, 224)).flip(horizontal=wb.random.coin_flip())
    return graph.crop_mirror_normalize(mean=MEAN, std=STD)


def turned_first() -> Graph:
    """Rotate at full size, then reduce and crop (``dali_pipeline`` of several projects)."""
    angle = wb.random.uniform(range=(-5.0, 5.0))
    graph = start_graph(load_catalog()).rotate(angle=angle, keep_size=True, fill_value=0.0)
    graph = graph.resize(resize_shorter=256.0)
    return graph.crop_mirror_normalize(crop=(224, 224), mean=MEAN, std=STD)


def crop_of_its_own() -> Graph:
    """Resize, crop and normalise with an operator each (evaluation loops)."""
    graph = start_graph(load_catalog()).resize(resize_shorter=256.0).crop(crop=(224, 224))
    graph = graph.crop_mirror_normalize(mean=MEAN, std=STD, output_layout="HWC")
    return graph.transpose(perm=(2, 0, 1))


def chance_before_the_crop() -> Graph:
    """Random colour, then random grey, at full size (SimCLR's jitter by hand)."""
    share = wb.random.uniform
    graph = start_graph(load_catalog()).with_p(
        0.8,
        lambda x: x.color_twist(
            brightness=share(range=(0.6, 1.4)),
            contrast=share(range=(0.6, 1.4)),
            saturation=share(range=(0.6, 1.4)),
        ),
    )
    graph = graph.with_p(0.2, lambda x: x.saturation(saturation=0.0)).resize(resize_shorter=256.0)
    place = share(range=(0.0, 1.0)), share(range=(0.0, 1.0))
    graph = graph.crop(crop=(224, 224), crop_pos_x=place[0], crop_pos_y=place[1])
    return graph.crop_mirror_normalize(mean=MEAN, std=STD)


def normalised_by_hand() -> Graph:
    """``ToTensor`` and ``Normalize`` as arithmetic, the first at full size."""
    image = start_graph(load_catalog()).cast(dtype="FLOAT").images / 255.0
    cut = image.flip(horizontal=wb.random.coin_flip()).resize(resize_shorter=256.0)
    cut = cut.crop(crop=(224, 224))
    mean, std = (
        wb.fn.constant(fdata=values, shape=(3,), dtype="FLOAT")
        for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    )
    return wb.outputs(images=((cut - mean) / std).transpose(perm=(2, 0, 1)))


GRAPHS = {
    make.__name__.replace("_", "-"): make
    for make in (
        scaled_first, colour_first, jitter_before_the_crop, turned_first, crop_of_its_own,
        chance_before_the_crop, normalised_by_hand,
    )
}  # fmt: skip


def main(out: str, *records: str) -> None:
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, make in GRAPHS.items():
        graph = make().with_settings(batch_size=16, num_threads=2)
        Path(out, f"{name}.json").write_text(wb.dump_graph(graph.named(name)))
    gains = []
    for path in records:
        record = json.loads(Path(path).read_text())
        told = record["extra"]["optimise"]
        gain, low, high, _ = told["total"] or (1.0, 1.0, 1.0, 1.0)  # nothing proposed: as it is
        gains.append(gain)
        _, least, most, _ = told["control"]
        print(
            f"{record['graph']:26}{gain:.2f} ({low:.2f} to {high:.2f}); "
            f"the same graph again {least:.2f} to {most:.2f}"
        )
    if gains:
        print(f"{'median':26}{statistics.median(gains):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
