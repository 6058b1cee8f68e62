"""``workbench optimise``: a faster graph that gives the same pixels."""

from __future__ import annotations

import click

from workbench.commands.measuring import (
    FiniteFloatRange,
    MeasureOptions,
    measure_options,
    print_machine,
    print_quality_flags,
    run_with_bar,
)
from workbench.commands.options import writable_file
from workbench.errors import GraphEditError


def _names(_: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Names of rewrites; of those to do also what means several. Known before anything runs."""
    from workbench.graph.rewrites import find_rewrite
    from workbench.optimiser.result import ALL, EXACT

    names = tuple(part.strip() for part in text.split(",")) if text else ()
    for name in names:
        if option.name == "applied" and name in (ALL, EXACT):
            continue
        try:
            find_rewrite(name)
        except GraphEditError as error:
            raise click.BadParameter(str(error)) from None
    return names


@click.command()
@measure_options
@click.option(
    "--apply",
    "applied",
    metavar="NAMES",
    callback=_names,
    help="Rewrites to do, with commas between; all, or exact for those alone.",
)
@click.option(
    "--only", metavar="NAMES", callback=_names, help="Rewrites to try, with commas between."
)
@click.option(
    "--seconds",
    type=FiniteFloatRange(20),
    metavar="S",
    help="How long it may take; without: about 10 s for each rewrite, more on a busy machine.",
)
@click.option(
    "-o", "--output", metavar="GRAPH.json", callback=writable_file, help="The graph so rewritten."
)
@click.option("--script", metavar="pipe.py", callback=writable_file, help="Its script.")
def optimise(
    options: MeasureOptions,
    applied: tuple[str, ...],
    only: tuple[str, ...],
    seconds: float | None,
    output: str | None,
    script: str | None,
) -> None:
    """Propose rewrites that make a graph faster, each measured and compared.

    Exact ones give every byte, near ones at least 35 dB on these data. Without --apply, -o and
    --script take all of them.

    Example:  workbench optimise slow.json --data photos --apply exact -o fast.json
    """
    from workbench.emit.targets import export
    from workbench.files import write_text
    from workbench.graph import dump_graph
    from workbench.graph.edits.edit import set_setting
    from workbench.optimiser import OptimisationExperiment, optimisation_of

    graph = options.graph
    if options.device:
        graph = set_setting(graph, device=options.device)
    if script:
        export(graph).require_name(script)  # before anything is measured
    run = OptimisationExperiment(
        graph, options.data, only or None, seconds=seconds, name=options.name
    )
    report = run_with_bar(run)
    found = optimisation_of(graph, report)
    print_machine(report)
    for line in found.lines():
        click.echo(line)
    print_quality_flags(report.measurements)
    options.keep(report)
    if not (output or script or applied):
        return
    faster = found.apply(*applied)
    if applied:
        click.echo(f"applied: {', '.join(found.chosen(applied)) or 'nothing'}")
    if output:
        click.echo(write_text(output, dump_graph(faster)))
    if script:
        click.echo(export(faster).write(script)[0])
