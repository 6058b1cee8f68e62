"""``workbench stages``: where the time goes."""

from __future__ import annotations

import click

from workbench.commands.measuring import (
    MeasureOptions,
    measure_options,
    print_machine,
    print_quality_flags,
    require_measured,
    run_with_bar,
)


@click.command()
@measure_options
@click.option("--quick", is_flag=True, help="A first look: fewer and shorter rounds.")
def stages(options: MeasureOptions, quick: bool) -> None:
    """Say where the time goes: read, decode, each operator, copy to the host; and the ceiling.

    Example:  workbench stages rotate-jitter --data photos --plot stages.png
    """
    from workbench.bench.experiments.stages import StageCostExperiment
    from workbench.bench.measuring.measurement import rate_words
    from workbench.bench.measuring.measurement_config import (
        COARSE_CONFIG,
        QUICK_CONFIG,
        low_precision_notice,
    )
    from workbench.bench.records.report_text import interrupted_words
    from workbench.bench.records.stage_report import stages_of
    from workbench.graph.edits.edit import set_setting

    graph = set_setting(options.graph, device=options.device) if options.device else options.graph
    run = StageCostExperiment(
        graph,
        options.data,
        measurement_config=COARSE_CONFIG if quick else QUICK_CONFIG,
        name=options.name,
    )
    report = run_with_bar(run)
    found = stages_of(report.extra)
    assert found is not None
    print_machine(report)
    wide = max(24, *(len(stage.title) + 2 for stage in found.stages))
    click.echo(
        f"{'stage':{wide}}{'where':8}{'takes':>10}{'measured':>10}{'interval':>20}{'alone':>10}"
        "   ms a batch"
    )
    for stage in found.stages:
        adds = "-" if stage.adds is None else f"{stage.adds:.2f}" if stage.is_nonnegative else "n/m"
        spread = "-" if stage.low is None else f"{stage.low:.2f} to {stage.high:.2f}"
        alone = "-" if stage.alone is None else f"{stage.alone:.2f}"
        takes = "-" if stage.exclusive is None else f"{stage.exclusive:.2f}"
        click.echo(
            f"{stage.title:{wide}}{stage.device:8}{takes:>10}{adds:>10}{spread:>20}{alone:>10}"
        )
    if any(stage.adds is not None and not stage.is_nonnegative for stage in found.stages):
        click.echo("n/m: not measurable, the difference is below zero")
    rest = "-" if found.remainder is None else f"{found.remainder:+.2f}"
    click.echo(f"{'whole, and remainder':{wide + 8}}{found.total:>10.2f}{'':30}{rest:>10}")
    if words := low_precision_notice(
        report.measurement_config, [row.interval for row in report.measurements if row.interval]
    ):
        click.echo(words)
    if found.ceiling is not None:
        click.echo(
            f"ceiling with the decoded batch cached: {rate_words(found.ceiling, report.frames)}"
        )
    for words in filter(None, (*found.function_words, found.advice, *found.path_words)):
        click.echo(words)
    for row in report.measurements:
        if row.reason:
            click.echo(f"{row.name}: {row.reason}")
    print_quality_flags(report.measurements)
    if words := interrupted_words(report):
        click.echo(words)
    options.keep(report)
    require_measured(report)
