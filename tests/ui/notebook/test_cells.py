"""Cells of a notebook: magics, the code of a cell, completion, the graph argument, and runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import workbench as wb
from tests.sources.written import write_frames
from tests.thorough import one_in
from tests.ui.notebook.conftest import Open
from workbench.bench import COARSE_CONFIG, Report
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine import describe_machine
from workbench.engine.protocol import progress
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import Graph, Node, dump_graph, load_recipe, load_recipes
from workbench.graph.builder.graph_code import ordered
from workbench.graph.builder.read import unchecked_reader_graph
from workbench.graph.storage.import_report import ImportReport
from workbench.graph.storage.layout import Document, Layout, Note, dump_document
from workbench.graph.storage.recipes import load_recipe_document
from workbench.preview.requests.share import KEY
from workbench.sources import open_datasets
from workbench.ui.export.cell_source import MOST_FILES, WIDTH, cell_source
from workbench.ui.notebook.completion import description
from workbench.ui.notebook.notebook_runs import run_with_bar
from workbench.ui.notebook.shell_hooks import register
from workbench.ui.state.graph_argument import START, to_document, to_graph

CELL = """
from nvidia.dali import pipeline_def, fn

@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def pipe():
    jpegs, labels = fn.readers.file(file_root={root!r})
    return fn.rotate(fn.decoders.image(jpegs), angle=10), labels
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "workbench")
    yield made
    for value in made.user_ns.values():
        if isinstance(value, wb.Workbench):
            value.close()
    InteractiveShell.clear_instance()


def test_a_cell_becomes_a_graph_and_a_workbench(shell: Any, photos: Path) -> None:
    shell.run_cell_magic("dali", f"'{photos}' --name made", CELL.format(root=str(photos)))
    graph = shell.user_ns["made_graph"]
    assert [node.op for node in graph.nodes] == ["readers.file", "decoders.image", "rotate"]
    assert graph["rotate"].angle == 10
    assert isinstance(shell.user_ns["made"], wb.Workbench)


def test_without_data_it_reads_what_the_pipeline_names_and_says_so(
    shell: Any, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell_magic("dali", "", CELL.format(root=str(photos)))
    said = capsys.readouterr().out
    assert f"Reading {photos} (folder of images), as set in the pipeline." in said
    assert "replaced" not in said
    first = shell.user_ns["w"]
    assert first._model.data_panel.dataset.location == str(photos)
    shell.user_ns["w"] = 3
    for replaced in (True, False):  # the second replaces its own
        shell.run_cell_magic("dali", "", CELL.format(root=str(photos)))
        said = capsys.readouterr().out
        assert ("%%dali replaced your variable w. Choose another name" in said) == replaced
        first.close()
        first = shell.user_ns["w"]


def test_frames_of_videos_are_told(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(write_frames(tmp_path / "frames"))
    shell.run_cell_magic("dali", place, CELL.format(root=place))
    assert "recognised by its numbered files of one size" in capsys.readouterr().out


def test_a_pipeline_that_names_its_files_needs_no_data(
    shell: Any, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *_) = sorted(photos.rglob("*.jpg"))
    named = CELL.format(root="").replace("file_root=''", f"files=[{str(first)!r}]")
    shell.run_cell_magic("dali", "", named)
    assert "The pipeline lists its files itself, so" in capsys.readouterr().out


NO_FOLDER = CELL.format(root="").replace("file_root=''", "file_root=root")
NO_FOLDER = NO_FOLDER.replace("def pipe(", "def pipe(root")


def test_the_data_of_the_line_are_the_only_parameter_of_the_function(
    shell: Any, photos: Path
) -> None:
    shell.run_cell_magic("dali", f"'{photos}'", NO_FOLDER)
    assert shell.user_ns["w"]._model.data_panel.dataset.location == str(photos)


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("", CELL.format(root="/not/there"), "the pipeline names /not/there, which does not exist"),
        ("", NO_FOLDER, "'pipe' requires 'root'. Pass --arg root=..."),
        ("--nothing", "x = 1", "unrecognized arguments: --nothing"),
        ("'a", "x = 1", "No closing quotation"),
        (".", "x = 1", "pipeline"),
        (".", "def", "invalid syntax"),
        (". --name 1", "x = 1", "--name '1' is not a Python name"),
    ],
)
def test_what_cannot_be_is_an_error_of_a_few_lines(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, cell: str, words: str
) -> None:
    ran = shell.run_cell(f"%%dali {line}\n{cell}")
    assert isinstance(ran.error_in_exec, wb.WorkbenchError)
    assert words in str(ran.error_in_exec)
    told = capsys.readouterr()
    assert words in told.err + told.out
    assert len((told.err + told.out).splitlines()) <= 5


def test_a_cell_is_skipped_if_a_package_is_missing(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("reload_ext", "workbench")
    assert shell.run_cell("%%needs json not_there\nmade = 1").success
    assert "needs not_there. Install with: pip install not_there" in capsys.readouterr().out
    assert "made" not in shell.user_ns
    assert shell.run_cell("%%needs json\nmade = 1\nmade + 1").result == 2


def test_a_failing_cell_leaves_no_earlier_graph(shell: Any, photos: Path) -> None:
    shell.run_cell_magic("dali", f"'{photos}'", CELL.format(root=str(photos)))
    earlier = shell.user_ns["w"]
    assert not shell.run_cell(f"%%dali '{photos}'\nx = 1").success
    assert not {"w", "w_graph"} & shell.user_ns.keys()
    earlier.close()
    shell.user_ns["w"] = 3  # not of the magic
    assert not shell.run_cell(f"%%dali '{photos}'\nx = 1").success
    assert shell.user_ns["w"] == 3


def test_mistakes_in_calls_are_short_and_verbose_shows_all(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["wb"] = wb
    for call in ("wb.check_graph('photos')", "wb.read('photos', nothing=1)", "wb.Workbench(3)"):
        assert not shell.run_cell(call).success
        told = capsys.readouterr()
        assert len((told.err + told.out).splitlines()) <= 5, told
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell("wb.check_graph('photos')")
    assert "Traceback" in capsys.readouterr().out
    shell.run_line_magic("xmode", "Context")


# The code of a cell gives the graph that was on the screen.


def run(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """What the cell hands to Workbench."""
    import workbench

    monkeypatch.setattr(
        workbench, "Workbench", lambda data, graph: SimpleNamespace(given=(data, graph)), False
    )
    monkeypatch.setattr(
        workbench,
        "read",
        lambda data, **options: unchecked_reader_graph(open_datasets(data), options),
        False,
    )
    names: dict[str, Any] = {}
    exec(compile(source, "cell", "exec"), names)
    given: tuple[Any, Any] = names["w"].given
    return given


@pytest.mark.parametrize("name", one_in(6, load_recipes()))
def test_it_gives_the_graph_and_the_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()[name]
    source = cell_source(open_datasets("my 'photos'\n"), Document(graph))
    data, described = run(source, monkeypatch)
    assert data == "my 'photos'\n"
    assert ordered(to_graph(described)) == ordered(graph)
    assert max(map(len, source.splitlines())) <= 3 * WIDTH


def test_what_no_calls_give_is_written_as_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()["ssd"]
    source = cell_source(open_datasets("d"), Document(graph))
    assert "# This graph cannot be written as method calls: " in source
    assert to_graph(run(source, monkeypatch)[1]) == graph


def test_nodes_stay_where_they_were_put(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()["simclr"]
    put = Layout({graph.nodes[0].id: (12.5, -3.0)})
    source = cell_source(open_datasets("d"), Document(graph, put))
    assert ".decode(" in source
    assert to_document(run(source, monkeypatch)[1]).layout == put
    assert to_document(Document(graph, put)) == Document(graph, put)
    assert to_document(graph).graph == graph
    assert not to_document(graph).layout.positions


def test_it_gives_several_data_and_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = load_recipes()["simclr"]
    data = {"data": "photos", "others": [(tmp_path / "a.jpg", 3)]}
    found, _ = run(cell_source(open_datasets(data), Document(graph)), monkeypatch)
    assert found == {"data": "photos", "others": [(str(tmp_path / "a.jpg"), 3)]}


def test_too_many_files_are_refused() -> None:
    files = open_datasets([f"{number}.jpg" for number in range(MOST_FILES + 1)])
    with pytest.raises(GraphEditError, match="A list of 101 files is too long"):
        cell_source(files, Document(load_recipes()["simclr"]))


@pytest.fixture(scope="module")
def completing_shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    register(made)
    register(made)
    graph = load_recipe("rotate-jitter")
    made.user_ns |= {"wb": wb, "g": graph, "angles": 3, "other": 3}
    w = wb.Workbench(".", graph, restore=False)
    made.user_ns["w"] = w
    yield made
    w.close()
    InteractiveShell.clear_instance()


def completed(completing_shell: Any, text: str) -> list[str]:
    """What can stand at the end of the text."""
    with provisionalcompleter():
        return [each.text for each in completing_shell.Completer.completions(text, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # operators
        ("g.rot", "rotate"),
        ("g.rotate(angle=3).resi", "resize"),
        ("g.rotate(angle=3).resize(size=(3, 3)).crop_m", "crop_mirror_normalize"),
        ("wb.read('photos').dec", "decode"),
        ("wb.read('photos').decode().resi", "resize"),
        ("x = (\n    wb.read('photos')\n    .decode()  # of (all\n    .resi", "resize"),
        ("x = g.rotate(angle=3)\ny = x.flip()\ny.resi", "resize"),
        ("g.images.rot", "rotate"),
        ("(g.images * 0.5 + g.images.flip()).rot", "rotate"),
        ("wb.outputs(view=g.flip(), labels=g.labels).rot", "rotate"),
        ("g['rotate'].set(angle=3).resi", "resize"),
        ("g.noise.gau", "gaussian"),
        ("wb.random.unif", "uniform"),
        ("g.rotate(angle=wb.random.unif", "uniform"),
        ("wb.fn.reductions.me", "mean"),
        ("g.lab", "labels"),
        ("g.flip().sho", "show"),
        ("wb.rea", "read"),
        # of a batch
        ("g.batch(0).ima", "images"),
        ("g.flip().batch(0).to('torch').plo", "plot"),
        ("b = w.batch(0)\nb.lab", "labels"),
        # in lambdas
        ("g.with_p(0.5, lambda x: x.rot", "rotate"),
        ("g.with_p(0.5, lambda x: x.rotate(angle=3).gauss", "gaussian_blur"),
        ("g.one_of(lambda x: x.flip(), lambda y: y.gauss", "gaussian_blur"),
        ("z = (\n    wb.read('p')\n    .with_p(0.5, lambda x: x.rot", "rotate"),
        # arguments
        ("g.rotate(ang", "angle="),
        ("g.rotate(angle=3, ke", "keep_size="),
        ("g.flip(horizontal=1, p", "p="),
        ("g.batch(sam", "samples="),
        ("w.bench(dev", "devices="),
        ("w.bench(devices=('cpu', 'm", "mixed"),
        ("w.stages(", "seconds="),
        ("w.stages(cache='", "cold"),
        ("w.tune(", "grid="),
        ("w.tune('", "mixed"),
        ("w.optimise(rew", "rewrites="),
        ("w.pipeline(num", "num_threads="),
        ("w.loader('torch', bat", "batch_size="),
        ("w.loader('torch', device='", "mixed"),
        ("g.rotate(angle=3).resize(si", "size="),
        ("g.with_p(0.5, lambda x: x.rotate(ang", "angle="),
        ("wb.read('photos').decode(output", "output_type="),
        ("wb.read('photos', random_sh", "random_shuffle="),
        ("wb.random.uniform(ran", "range="),
        ("w['rotate'].set(fill", "fill_value="),
        ("wb.Workbench('photos', lay", "layout="),
        ("wb.export(g, tar", "target="),
        # of a node
        ('g["rotate"].an', "angle"),
        ('x = w["rotate"].keep', "keep_size"),
        ("w['rot", "rotate"),
        ("w.param('rotate.an", "rotate.angle"),
        # values
        ("g.resize(size=(4, 4), interp_type='INTERP_LAN", "INTERP_LANCZOS3"),
        ("w['rotate'].interp_type = 'INTERP_L", "INTERP_LINEAR"),
        ("g.rotate(angle=5, interp_type=", '"INTERP_LINEAR"'),
        ("b = g.batch(0)\nb['", "labels"),
        ("wb.read('photos').decode(output_type='GR", "GRAY"),
        ("wb.load_recipe('imagenet-t", "imagenet-train"),
        ("wb.read('photos').decode(device='", "mixed"),
        ("wb.export(g, 'pytorch', with_='tr", "training"),
        ("wb.compare(g, 'simc", "simclr"),
        ("wb.Workbench('photos', g, layout='", "stacked"),
        ("wb.Benchmark(g, 'photos', devices=['", "cpu"),
        ("wb.PreviewRequest(g, 'photos', shown='", "both"),
        ("g.batch(0).to('to", "torch"),
        ("w.panel('", "preview"),
        ("w.target = 'pyto", "pytorch"),
        ("w.graph = 'simc", "simclr"),
        ("wb.Workbench('photos', 'simc", "simclr"),
        ("wb.export(g, 'pyto", "pytorch"),
        # settings
        ("w.settings.batch_s", "batch_size"),
        ("w.settings.executor = 'sta", "static"),
        ("g.with_settings(batch_s", "batch_size="),
        ("g.with_settings(batch_size=3, device='mi", "mixed"),
        ("g.with_settings(executor='sta", "static"),
    ],
)
def test_a_cell_completes(completing_shell: Any, text: str, expected: str) -> None:
    assert completed(completing_shell, text).count(expected) == 1


def test_a_variable_is_offered_beside_arguments(completing_shell: Any) -> None:
    assert completed(completing_shell, "g.rotate(ang") == ["angle=", "angles"]
    assert "angle=" not in completed(completing_shell, "g.rotate(angle=3, ang")


@pytest.mark.parametrize(
    "text", ['g["rotat"].an', 'other["rotate"].an', "other.rot", "g.batch(0).rot", "(((", ".a"]
)
def test_what_is_unknown_completes_nothing(completing_shell: Any, text: str) -> None:
    assert not {"angle", "rotate", "INTERP_NN"} & {*completed(completing_shell, text)}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("g.rotate(", ("(*, angle: float | wb.DataNode, ", "One of: INTERP_NN, INTERP_LINEAR")),
        ("g.flip().rotate(angle=3, ", ("keep_size: bool = False", "in °, usually -180 to 180")),
        ("g.with_p(0.5, lambda x: x.resize(", ("Literal['default', ", "One of: default, stretch")),
        ("wb.read('photos').decode(", ("decode(", "output_type")),
        ("other(", ()),
    ],
)
def test_shift_tab_describes_operators_in_chains(
    completing_shell: Any, code: str, words: tuple[str, ...]
) -> None:
    text = description(code, len(code), completing_shell.user_ns)
    assert bool(text) == bool(words)
    assert all(each in text for each in words)


def test_an_older_shell_is_left_as_it_is(
    completing_shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colab's IPython 7 has no such matchers."""
    monkeypatch.delattr("IPython.core.completer.context_matcher")
    old = SimpleNamespace()
    register(old)
    assert vars(old) == {}


def test_what_can_stand_for_a_graph(tmp_path: Path) -> None:
    graph = load_recipe("simclr")
    file = tmp_path / "graph.json"
    file.write_text(dump_graph(graph))
    for source in (graph, "simclr", file, str(file), json.loads(dump_graph(graph))):
        assert to_graph(source) == graph
    assert to_graph(None) == load_recipe(START)


@pytest.mark.parametrize("ending", ["json", "png"])
def test_a_file_keeps_what_is_beside_the_graph(ending: str, tmp_path: Path) -> None:
    layout = Layout().with_note(Note("as in the paper", (40.0, 300.0)))
    document = Document(load_recipe("simclr"), layout)
    file = tmp_path / f"graph.{ending}"
    if ending == "png":
        info = PngInfo()
        info.add_itxt(KEY, dump_document(document))
        Image.new("RGB", (8, 8)).save(file, pnginfo=info)
    else:
        file.write_text(dump_document(document))
    assert to_document(file) == to_document(str(file)) == document


def test_an_import_stands_for_its_document() -> None:
    document = load_recipe_document("simclr")
    found = ImportedGraph(document, ImportReport())
    assert to_graph(found) is document.graph
    assert to_document(found) is document


@pytest.mark.parametrize("source", [5, ["simclr"], "simclrr", Path("gone.json"), {"format": "x"}])
def test_what_cannot(source: object) -> None:
    with pytest.raises(GraphFormatError):
        to_graph(source)  # type: ignore[arg-type]


def test_half_a_character_is_no_name() -> None:
    odd = "\ud800"
    for graph in (Graph(name=odd), Graph(about=odd), Graph(nodes=(Node(odd, "rotate"),))):
        with pytest.raises(GraphFormatError, match="lone surrogate"):
            to_graph(graph)


# What a cell has measured and compared of a workbench's present graph.


@pytest.fixture
def w(open_workbench: Open, photos: Path) -> wb.Workbench:
    graph = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5)
    return open_workbench(graph.with_settings(batch_size=8, num_threads=1))


class Experiment:
    """A run that is interrupted after it has measured ``so_far``."""

    def __init__(self, so_far: object) -> None:
        self.partial_report, self.cancelled = so_far, False

    def run(self, on_progress: Any) -> Any:
        on_progress(0.5, "halfway")
        raise KeyboardInterrupt

    def cancel(self) -> None:
        self.cancelled = True

    def interrupted_report(self) -> None:
        return None


def test_an_interrupt_keeps_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    kept: Any = Experiment("rows")
    assert run_with_bar(kept) == "rows"
    nothing: Any = Experiment(None)
    with pytest.raises(wb.CancelledError, match=r"^Interrupted\.$"):
        run_with_bar(nothing)
    assert kept.cancelled
    assert nothing.cancelled


def test_each_run_is_one_of_the_present_graph(
    w: wb.Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, float, str]] = []

    def note(experiment: SpeedExperiment) -> Report:
        config = experiment.measurement_config
        assert config is COARSE_CONFIG
        ran.append((experiment.kind, experiment.graph["rotate"].angle, w.graph.settings.device))
        return Report("graph", "photos", describe_machine(), (), name=experiment.kind)

    monkeypatch.setattr("workbench.ui.notebook.notebook_runs.run_with_bar", note)
    w["rotate"].angle = 9
    for run in (w.bench, w.stages, w.tune):
        run(measurement_config=COARSE_CONFIG)
    assert ran == [("bench", 9, "cpu"), ("stages", 9, "cpu"), ("tune", 9, "cpu")]
    shown = {record.name for record in w._model.speed.store.records.values()}
    assert shown == {"bench", "stages", "tune"}, "the panel and the status line have them"


def test_the_preview_is_compared_with_the_script(w: wb.Workbench) -> None:
    found = w.verify(batches=1)
    assert found.exact
    assert repr(found) == "identical: 8 of 8"
    assert list(found.to_frame().columns)[:3] == ["batch", "sample", "file"]


@pytest.mark.thorough
def test_stages_are_measured(w: wb.Workbench) -> None:
    report = w.stages(measurement_config=COARSE_CONFIG)
    assert {*report.to_frame()["stage"]} >= {"reader", "decode", "resize", "rotate"}
    assert report.plot()._repr_png_()


def test_a_closed_workbench_runs_nothing(w: wb.Workbench) -> None:
    w.close()
    for run in (w.bench, w.stages, w.tune, w.optimise, w.verify):
        with pytest.raises(wb.EngineError, match="This workbench is closed"):
            run()
