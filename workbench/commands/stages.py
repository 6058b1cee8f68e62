"""``workbench stages``: where the time goes."""

from __future__ import annotations

import click

from workbench.commands.measuring import Asked, asks, progress_bar, tell_doubts, tell_machine


@click.command()
@asks
@click.option("--quick", is_flag=True, help="A first look: fewer and shorter rounds.")
def stages(asked: Asked, quick: bool) -> None:
    """Say where the time goes: read, decode, each operator, copy to the host; and the ceiling.

    Example:  workbench stages rotate-jitter --data photos --plot stages.png
    """
    from workbench.bench.method import GLANCE, QUICK, quick_words
    from workbench.bench.stages import Stages, stages_of
    from workbench.graph.edit import set_setting

    graph = set_setting(asked.graph, device=asked.device) if asked.device else asked.graph
    run = Stages(graph, asked.data, method=GLANCE if quick else QUICK, name=asked.name)
    with progress_bar() as progress:
        report = run.run(progress)
    found = stages_of(report.extra)
    assert found is not None
    tell_machine(report)
    wide = max(24, *(len(stage.title) + 2 for stage in found.stages))
    click.echo(f"{'stage':{wide}}{'where':8}{'adds':>10}{'interval':>20}{'alone':>10}   ms a batch")
    for stage in found.stages:
        adds = "-" if stage.adds is None else f"{stage.adds:.2f}"
        spread = "-" if stage.low is None else f"{stage.low:.2f} to {stage.high:.2f}"
        alone = "-" if stage.alone is None else f"{stage.alone:.2f}"
        click.echo(f"{stage.title:{wide}}{stage.device:8}{adds:>10}{spread:>20}{alone:>10}")
    rest = "-" if found.remainder is None else f"{found.remainder:+.2f}"
    click.echo(f"{'whole, and remainder':{wide + 8}}{found.total:>10.2f}{'':20}{rest:>10}")
    if words := quick_words(
        report.method, [row.interval for row in report.measurements if row.interval]
    ):
        click.echo(words)
    if found.ceiling is not None:
        click.echo(f"ceiling with the decoded batch cached: {found.ceiling:,.0f} imgs/s")
    click.echo(found.advice)
    tell_doubts(report.measurements)
    asked.keep(report)
