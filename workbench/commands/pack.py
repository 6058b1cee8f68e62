"""``workbench pack``: write test images and a checker for a server's preprocessing."""

from __future__ import annotations

import click

from workbench.commands.options import DATA, SOURCE, load_source_graph, report_errors, writable_path
from workbench.commands.options import open_graph_on_data as opened_on
from workbench.sources import Datasets


@click.command()
@SOURCE
@DATA
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="DIR",
    callback=writable_path,
    help="New folder to write.",
)
@click.option("--image", default="", metavar="NAME", help="Image output, if there are several.")
@report_errors
def pack(graph: str, data: Datasets, folder: str, image: str) -> None:
    """Write test images, their tensors, and a checker that compares a server with them.

    The test images are ones that programs often decode differently: rotated by Exif, grayscale,
    CMYK, transparent, 16-bit and very small images. The graph computes the tensors without random
    values. check.py in the folder needs neither DALI nor the workbench. It reports what the server
    does wrong.

    Example:  workbench pack imagenet-eval --data photos -o pack && python pack/check.py server.py:f
    """
    from workbench.engine.protocol.exit_status import printable
    from workbench.serving_check import pack as write_pack

    opened, datasets = opened_on(load_source_graph(graph), data)
    found = write_pack(opened, datasets, folder, image)
    for line in found.document().sentences:
        click.echo(printable(line))
