"""``workbench diff``: compare two pipelines on data, and find which arguments make them equal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from workbench.commands.options import data_option, report_errors, writable_file

_WHAT = "GRAPH|PROGRAM|FILE.py:NAME"


class _DiffCommand(click.Command):
    """A command whose errors have exit code 2, because 1 means that the pipelines differ."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.show()
            ctx.exit(2)


@click.command("diff", cls=_DiffCommand)
@click.argument("a", metavar=_WHAT)
@click.argument("b", metavar=_WHAT)
@data_option("--data", required=True, metavar="DIR|LIST", help="Images to compare.")
@click.option(
    "--model",
    metavar="FILE.py:NAME",
    help="Function from a batch of results to logits. Counts changed predictions.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Maximum number of images to compare.",
)
@click.option(
    "--python",
    metavar="PATH",
    default="",
    help="Run the second pipeline with another interpreter, such as other/bin/python.",
)
@click.option(
    "--python-a",
    metavar="PATH",
    default="",
    help="Run the first pipeline with another interpreter.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=writable_file,
    help="Write the result here; the Results panel opens it.",
)
@report_errors
def diff_command(
    a: str,
    b: str,
    data: Any,
    model: str | None,
    samples: int,
    python: str,
    python_a: str,
    output: str | None,
) -> None:
    """Compare two pipelines on images, and find the arguments that make them equal.

    A pipeline is a graph file, a recipe, a script with a DALI pipeline or a composition of
    torchvision, Albumentations or Kornia, or FILE.py:NAME: a composition, or a function from
    encoded bytes, an array or a Pillow image to an array. The code in these files runs with your
    permissions.

    The result contains the difference by step, the causes, and the worst images. Random values are
    fixed on both sides. The exit code is 0 if the pipelines are equal, and 1 if they differ. It is
    2 if an argument is wrong, or if no difference was found but some parts could not be compared,
    for example random arguments that are not equal.

    Example:  workbench diff imagenet-eval evaluate.py:transform --data photos
    """
    from workbench.pipeline_difference import diff

    predict = _function(model) if model else None
    with click.progressbar(length=1000, label="comparing", file=sys.stderr) as bar:

        def progress(share: float, text: str) -> None:
            bar.label = text[:40]
            bar.update(int(share * 1000) - bar.pos)

        found = diff(
            a, b, data, samples, model=predict, python_a=python_a, python_b=python,
            on_progress=progress,
        )  # fmt: skip
    click.echo(repr(found))
    if output:
        click.echo(found.save(output))
    if not found.equal:
        raise SystemExit(1 if found.differ else 2)


def _function(spec: str) -> Callable[[Any], Any]:
    """Load the function that ``--model`` names. Raises ArgumentError if that fails."""
    from workbench.pipeline_difference.sides.foreign import load_function

    return load_function(spec)
