"""Define the command line, which offers the functions of the notebook and the web app.

Exit codes: 0 success, 1 the work failed (the message says why), 2 invalid arguments that are found
before any work starts, such as an unknown recipe or a missing data folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import click

from workbench import __version__
from workbench.commands.app import app_command
from workbench.commands.bench import bench, scale, stages
from workbench.commands.check import check
from workbench.commands.diff import diff_command
from workbench.commands.import_command import import_command
from workbench.commands.options import DATA as _DATA
from workbench.commands.options import SAMPLER as _SAMPLER
from workbench.commands.options import SOURCE as _SOURCE
from workbench.commands.options import graph_warnings
from workbench.commands.options import load_source_graph as _load_source_graph
from workbench.commands.options import open_graph_on_data as _opened_on
from workbench.commands.options import print_warnings as _print_warnings
from workbench.commands.options import refuse_overwriting_source as _spare
from workbench.commands.options import renamed_option as _renamed_option
from workbench.commands.options import report_errors as _report_errors
from workbench.commands.options import with_sampler as _with_sampler
from workbench.commands.options import writable_file as _writable_file
from workbench.commands.options import writable_path as _writable_path
from workbench.commands.pack import pack
from workbench.commands.records import compare, records
from workbench.commands.tune import optimise, tune
from workbench.commands.versions import render, versions
from workbench.emit.targets import ADDITIONS, Export, target_names
from workbench.errors import SaveError, WorkbenchError
from workbench.graph.model import Graph
from workbench.sources import Datasets

TARGETS = target_names()
MAX_SEED = 2**31 - 10_000 - 1
"""Largest seed of a graph, to which the seeds of operators are added."""
MAX_BATCH = 1_000_000


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workbench")
@click.option(
    "--trust",
    is_flag=True,
    help="Trust the Python functions in the graph file. They run with your permissions.",
)
@click.pass_context
def main(context: click.Context, trust: bool) -> None:
    """Build, preview, measure and export NVIDIA DALI image augmentation pipelines.

    Start with sample photos, then open the web app on them:

    Example:  workbench samples photos && workbench app --data photos
    """
    context.obj = trust


def _require_gpu(graph: Graph) -> None:
    from workbench.catalog import load_catalog
    from workbench.engine.resources.machine import describe_machine
    from workbench.graph.types.devices import infer_devices

    missing = describe_machine().no_gpu
    if not missing:
        return
    if graph.settings.device == "mixed":
        raise WorkbenchError(f"Mixed decoding needs a GPU: {missing}. Use --device cpu.")
    for node, device in infer_devices(graph, load_catalog()).items():
        if device != "cpu":
            raise WorkbenchError(f"{node!r} needs a GPU: {missing}. Remove or mute this node.")


@main.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--formats", is_flag=True, help="Also write one photo in each file format that DALI decodes."
)
@click.option(
    "--annotations",
    is_flag=True,
    help="Write photos with boxes, masks and points instead, and videos.",
)
@_renamed_option("--targets", "--annotations")
@_report_errors
def samples(folder: Path, formats: bool, annotations: bool) -> None:
    """Write sample photos in class folders.

    They are cropped from images in the scikit-image and scikit-learn packages.

    --annotations writes photos with shapes drawn on them and their exact annotations, in each data
    format that the workbench reads. The paths to use with --data are printed.

    Example:  workbench samples photos
    """
    from workbench.samples import NEED_LMDB, write_samples
    from workbench.sources import load_source, source_kinds

    if formats and annotations:
        raise click.UsageError(
            "--formats and --annotations cannot be combined. Run the command once with each, into "
            "separate folders."
        )
    count = write_samples(folder, formats, annotations)
    click.echo(f"{count} {'files' if annotations else 'photos'} in {folder}")
    for kind in map(load_source, source_kinds() if annotations else ()):
        if kind.sample and (folder / kind.sample).exists():
            click.echo(f"{folder / kind.sample!s:32} {kind.about}")
        elif kind.sample in NEED_LMDB:
            click.echo(f"{kind.sample} was not written: pip install 'dali-workbench[lmdb]'.")


@main.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print all properties of the operators as JSON."
)
@_report_errors
def ops(as_json: bool) -> None:
    """List DALI's operators.

    If an operator cannot be used yet, the list says why.

    Example:  workbench ops --json > operators.json
    """
    from workbench.catalog import load_catalog
    from workbench.catalog.listing import list_operators

    click.echo(list_operators(load_catalog(), as_json))


@main.command()
@_report_errors
def recipes() -> None:
    """List the built-in graphs (recipes).

    Example:  workbench recipes
    """
    from workbench.graph import load_recipes
    from workbench.graph.storage.recipes import required_data_text

    for name, graph in load_recipes().items():
        click.echo(f"{name:22}{graph.about}{required_data_text(graph)}")


@main.command()
@_SOURCE
@_DATA
@_SAMPLER
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="SHEET.png",
    callback=_writable_file,
    help="PNG or JPEG to write.",
)
@click.option(
    "--batch",
    type=click.IntRange(0, MAX_BATCH),
    default=0,
    show_default=True,
    help="Index of the batch; the first is 0.",
)
@click.option("--seed", type=click.IntRange(0, MAX_SEED), help="Overrides the seed of the graph.")
@click.option(
    "--tiles",
    type=click.IntRange(1, 64),
    default=16,
    show_default=True,
    help="Maximum number of samples to show.",
)
@click.option(
    "--device", type=click.Choice(["cpu", "mixed"]), help="Overrides the device of the graph."
)
@click.option(
    "--annotations/--no-annotations",
    default=True,
    show_default=True,
    help="Draw boxes, points and masks.",
)
@_renamed_option("--targets/--no-targets", "--annotations or --no-annotations")
@_report_errors
def preview(
    graph: str,
    data: Datasets,
    sampler: str | None,
    output: str,
    batch: int,
    seed: int | None,
    tiles: int,
    device: str | None,
    annotations: bool,
) -> None:
    """Write a contact sheet of original and augmented images.

    It also shows boxes, points and masks.

    Example:  workbench preview simclr --data photos -o sheet.png --batch 3
    """
    import numpy as np

    from workbench.engine import Engine
    from workbench.files import write_bytes
    from workbench.graph.edits.edit import set_setting
    from workbench.preview import PreviewRequest, preview_batch
    from workbench.preview.pictures.contact_sheet import encode

    mime = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}.get(
        Path(output).suffix.lower()
    )
    if mime is None:
        raise click.BadParameter(
            f"{output} ends in neither .png nor .jpg. Choose one of them.", param_hint="-o"
        )
    _spare(graph, output)
    chosen = {"seed": seed, "device": device}
    edited = set_setting(
        _load_source_graph(graph), **{k: v for k, v in chosen.items() if v is not None}
    )
    edited, datasets = _opened_on(edited, data)
    edited = _with_sampler(edited, sampler)
    _require_gpu(edited)
    request = PreviewRequest(edited, datasets, batch, tiles, lossless=mime == "image/png")
    with Engine() as engine:
        shown = preview_batch(engine, request)
    for tile in shown.tiles:
        if tile.sample.error:
            click.echo(f"skipped: {tile.sample.file}: {tile.sample.error}", err=True)
        elif tile.sample.warning:
            click.echo(f"warning: {tile.sample.file}: {tile.sample.warning}", err=True)
    if all(tile.sample.error for tile in shown.tiles):
        raise WorkbenchError(
            f"{output} was not written: no file in batch {batch} can be decoded. Use another "
            "--batch."
        )
    has_marks = annotations and any(any(tile.marks) for tile in shown.tiles)
    image = encode(np.asarray(shown.annotated()), mime) if has_marks else shown.image
    write_bytes(output, image)
    note = f", {shown.note}" if shown.note else ""
    click.echo(f"{output}: {len(shown.tiles)} samples of batch {batch}{note}")


@main.command()
@_SOURCE
@_DATA
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="SHEET.png",
    callback=_writable_file,
    help="PNG to write.",
)
@_report_errors
def share(graph: str, data: Datasets, output: str) -> None:
    """Write a contact sheet with the graph embedded. Dropping it on a workbench opens the graph.

    Example:  workbench share simclr --data photos -o simclr.png
    """
    from workbench.engine import Engine
    from workbench.files import write_bytes
    from workbench.graph.storage.io import dump_graph
    from workbench.preview import PreviewRequest
    from workbench.preview.requests.share import share_sheet

    if not output.endswith(".png"):
        raise click.BadParameter(
            f"{output} does not end in .png. Use a .png file.", param_hint="-o"
        )
    opened = _load_source_graph(graph)
    shown, datasets = _opened_on(opened, data)
    _require_gpu(shown)
    with Engine() as engine:
        picture = share_sheet(engine, PreviewRequest(shown, datasets), dump_graph(opened))
    click.echo(write_bytes(output, picture))


@main.command()
@_SOURCE
@_DATA
@_SAMPLER
@click.option(
    "--batches",
    type=click.IntRange(1, MAX_BATCH),
    default=3,
    show_default=True,
    help="Number of batches to compare.",
)
@click.option(
    "--device", type=click.Choice(["cpu", "mixed"]), help="Overrides the device of the graph."
)
@click.option(
    "--target",
    type=click.Choice(["script", "pytorch"]),
    default="script",
    show_default=True,
    help="Compare the exported script, or the exported PyTorch loader.",
)
@_report_errors
def verify(
    graph: str,
    data: Datasets,
    sampler: str | None,
    batches: int,
    device: str | None,
    target: str,
) -> None:
    """Compare the exported script with the preview, bit for bit.

    With --target pytorch, compare the exported loader instead, for at most one epoch. The last
    line is `identical: N of N`. The exit code is 1 if any sample differs.

    Example:  workbench verify simclr --data photos --batches 3
    """
    from workbench.engine.protocol.exit_status import printable
    from workbench.graph.edits.edit import set_setting
    from workbench.graph.execution.dataset_parameters import datasets_as_read
    from workbench.preview.verify import Verifier

    opened = _load_source_graph(graph)
    edited = opened if device is None else set_setting(opened, device=device)
    edited, datasets = _opened_on(edited, data)
    edited = _with_sampler(edited, sampler)
    _require_gpu(edited)
    with click.progressbar(length=1000, label="verifying", file=sys.stderr) as bar:

        def progress(share: float, text: str) -> None:
            bar.label = text
            bar.update(int(share * 1000) - bar.pos)

        report = Verifier(edited, datasets, batches, target=cast(Any, target)).run(progress)
    for bad in report.left_out:
        click.echo(f"skipped: {printable(bad.file)}: {printable(bad.reason)}", err=True)
    _print_warnings(graph_warnings(edited, datasets_as_read(edited, datasets)))
    for line in report.lines():
        click.echo(line)
    if not report.exact:
        raise SystemExit(1)


@main.command()
@_SOURCE
@_DATA
@_SAMPLER
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="script",
    show_default=True,
    help="The kind of program to write.",
)
@click.option(
    "--with",
    "with_",
    type=click.Choice(ADDITIONS),
    help="training: add a training loop. samples: add file names and random values to each batch. "
    "capture: use DALI's capture mode (only for the target dynamic).",
)
@click.option(
    "--plain",
    is_flag=True,
    help="Omit comments on bad files, and the embedded graph that `workbench import` reads.",
)
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Check all files like `workbench check --full`, and write a list of those that are "
    "neither bad nor damaged next to the program. The program reads only these files.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="PATH",
    callback=_writable_path,
    help="File to write, or a new folder if the target consists of several files.",
)
@_report_errors
def export(
    graph: str,
    data: Datasets,
    sampler: str | None,
    target: str,
    with_: str | None,
    plain: bool,
    skip_bad: bool,
    output: str,
) -> None:
    """Write the graph as a program that runs without the workbench.

    The kind of --data, such as a list of files, determines the reader of the program. Without
    --data, the program has the reader of the graph.

    Example:  workbench export rotate-jitter --target pytorch -o loader.py
    """
    from workbench.emit.targets import export as export_graph
    from workbench.graph.execution.dataset_parameters import datasets_as_read, with_datasets

    if skip_bad and not data:
        raise click.UsageError("--skip-bad needs --data, the files to check.")
    _spare(graph, output)
    opened = _load_source_graph(graph)
    datasets = None
    if data:
        opened, datasets = _opened_on(opened, data)
        opened = with_datasets(opened, datasets)
    opened = _with_sampler(opened, sampler)
    read = datasets_as_read(opened, datasets or data) if data else {}
    if skip_bad:
        exported, read = _export_good(opened, read, target, with_ or "", plain, output)
    else:
        exported = export_graph(opened, target, with_=with_ or "", data=datasets, plain=plain)
    _require_name(exported, output)
    for path in exported.write(output):
        click.echo(path)
    for note in exported.notes:
        click.echo(f"changed: {note}", err=True)
    _print_warnings(graph_warnings(opened, read))
    found_bad = _report_bad_files(read, opened) if data and not skip_bad else False
    if exported.at_bad_file and not found_bad:
        click.echo(f"note: {exported.at_bad_file}", err=True)


def _require_name(exported: Export, output: str) -> None:
    """Raise BadParameter if a program with the file name ``output`` could not run."""
    if len(exported.files) == 1:
        try:
            exported.require_name(output)
        except SaveError as error:
            raise click.BadParameter(str(error), param_hint="-o") from None


def _export_good(
    graph: Graph, data: Datasets, target: str, with_: str, plain: bool, output: str
) -> tuple[Export, Datasets]:
    """Export a program that reads only the good files; return it and its datasets.

    Prints the number of skipped files.
    """
    from workbench.catalog import load_catalog
    from workbench.commands.check import check_with_bar
    from workbench.emit.targets import export as export_graph
    from workbench.engine.protocol.exit_status import printable
    from workbench.graph.checks.check import require_sound
    from workbench.health.skip_bad import without_bad, without_check

    if not data:
        raise click.UsageError(
            "The graph lists its files itself, so --skip-bad cannot exclude any. Omit --skip-bad."
        )
    catalog = load_catalog()
    require_sound(graph, catalog)
    _require_name(without_check(graph, target, catalog, with_, data), output)
    good, report = without_bad(graph, data, check_with_bar)
    click.echo(printable(report), err=True)
    made = export_graph(graph, target, with_=with_, plain=plain, good=good)
    return made, good.datasets


def _report_bad_files(data: Datasets, graph: Graph) -> bool:
    """Print the files that would end the program or be decoded wrongly, and how to skip them.

    Returns True if a file would end the program.
    """
    from workbench.engine.file_checks.usable_data import UsableData
    from workbench.engine.protocol.exit_status import printable
    from workbench.sources import describe_not_read, load_source

    for dataset in data.values():
        for note in describe_not_read(dataset):
            click.echo(f"note: {printable(note)}", err=True)
    usable = UsableData(data)
    usable.exclude_bad(full=False)
    for bad in usable.excluded:
        click.echo(f"bad: {printable(bad.file)}: {printable(bad.reason)}", err=True)
    whole = any(node.args.get("dtype") in ("INT16", "INT32") for node in graph.walk())
    for file, found in usable.misread.items():
        if found.kind != "float sound" or whole:
            click.echo(f"note: {printable(file)}: {printable(found.reason)}", err=True)
    if usable.excluded:
        first = next(iter(data.values()))
        place = shlex.quote(str(first))
        good = "good.txt" if load_source(first.kind).lists_files else "good"
        click.echo(
            f"note: one bad file ends the program. Export with --skip-bad, or read the list that "
            f"`workbench check {place} --full --good {good}` writes.",
            err=True,
        )
    return bool(usable.excluded)


@main.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8888,
    show_default=True,
    help="Port of JupyterLab.",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@_report_errors
def lab(port: int, no_browser: bool) -> None:
    """Open JupyterLab with the quickstart notebook. Run it in the folder of the project.

    Example:  workbench lab --port 8889
    """
    notebook = Path("notebooks/01_quickstart.ipynb")
    if not notebook.exists():
        raise WorkbenchError(
            f"There is no {notebook} here. Run this in the project folder, or run `jupyter lab` "
            "and enter: import workbench as wb; wb.Workbench('photos')"
        )
    command = [sys.executable, "-m", "jupyter", "lab", str(notebook), f"--port={port}"]
    command += ["--ip=127.0.0.1", "--ServerApp.port_retries=0"]
    command += ["--no-browser"] * no_browser + ["--allow-root"] * (os.geteuid() == 0)
    raise SystemExit(1 if subprocess.call(command) else 0)  # a signal is a negative code


for _command in (
    *(bench, stages, tune, optimise, scale, compare, records),
    *(check, diff_command, import_command, app_command, pack, render, versions),
):
    main.add_command(_command)


if __name__ == "__main__":
    main()
