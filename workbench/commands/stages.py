"""``workbench stages``: where the time goes."""

from __future__ import annotations

import click

from workbench.commands.measuring import (
    JSON,
    NAME,
    ONE_DEVICE,
    PLOT,
    keep_record,
    progress_bar,
    tell_machine,
)
from workbench.commands.options import DATA, SOURCE, graph_of, reports


@click.command()
@SOURCE
@DATA
@ONE_DEVICE
@JSON
@NAME
@PLOT
@reports
def stages(
    graph: str, data: str, device: str | None, record: str | None, name: str, picture: str | None
) -> None:
    """Say where the time goes: read, decode, each operator, copy to the host; and the ceiling.

    Example:  workbench stages rotate-jitter --data photos --plot stages.png
    """
    from workbench.bench.method import QUICK
    from workbench.bench.stages import Stages, stages_of
    from workbench.graph.edit import set_setting

    edited = graph_of(graph)
    if device:
        edited = set_setting(edited, device=device)
    with progress_bar() as progress:
        report = Stages(edited, data, method=QUICK, name=name).run(progress)
    found = stages_of(report.extra)
    assert found is not None
    tell_machine(report)
    click.echo(f"{'stage':24}{'where':8}{'adds':>10}{'alone':>10}   ms a batch")
    for stage in found.stages:
        adds = "-" if stage.adds is None else f"{stage.adds:.2f}"
        alone = "-" if stage.alone is None else f"{stage.alone:.2f}"
        click.echo(f"{stage.stage:24}{stage.device:8}{adds:>10}{alone:>10}")
    rest = "-" if found.remainder is None else f"{found.remainder:+.2f}"
    click.echo(f"{'whole, and remainder':32}{found.total:>10.2f}{rest:>10}")
    if found.ceiling is not None:
        click.echo(f"ceiling with the decoded batch cached: {found.ceiling:,.0f} imgs/s")
    click.echo(found.advice)
    keep_record(report, record, picture)
