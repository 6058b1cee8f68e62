"""A table of mistakes, made in a real IPython shell: each raises, in at most five lines.

``pytest --thorough -s tests/test_mistakes.py`` prints the table: mistake, class, lines, message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench.samples import write_samples

MOST_LINES = 5
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_START = """
import numpy as np, pathlib, workbench as wb
g = wb.read("photos").decode().resize(size=(64, 64)).rotate(angle=5).with_settings(batch_size=4)
"""
_WORKBENCH = """
w = wb.Workbench("photos", g, restore=False)
b = w.batch(0)
"""

MISTAKES = {
    # Misspelt names, and names of other libraries
    'wb.raed("photos")': ("UnknownNameError", "Did you mean read?"),
    'wb.Workbnech("photos")': ("UnknownNameError", "Did you mean Workbench?"),
    'wb.load_recipe("simcl")': ("GraphFormatError", "Did you mean simclr?"),
    "g.rotat(angle=5)": ("UnknownNameError", "Did you mean rotate?"),
    "g.rotate(angl=5)": ("UnknownNameError", "Did you mean angle?"),
    "g.RandomHorizontalFlip()": ("UnknownNameError", "Did you mean flip?"),
    "g.ColorJitter(brightness=0.2)": ("UnknownNameError", "Did you mean color_twist?"),
    "g.GaussNoise()": ("UnknownNameError", "Did you mean noise.gaussian?"),
    'wb.load_recipe("SimCLR")': ("GraphFormatError", "Did you mean simclr?"),
    "wb.random.uniform(min=0, max=1)": ("UnknownNameError", "Did you mean range?"),
    'wb.Settings(batch_size="x")': ("ArgumentError", "Use an integer from 1 to 100000"),
    'wb.Settings(device="gpu")': ("ArgumentError", "Use cpu or mixed"),
    "wb.Settings(batchsize=3)": ("UnknownNameError", "Did you mean batch_size?"),
    "g.Normalize(mean=0.5)": ("UnknownNameError", "Did you mean crop_mirror_normalize"),
    "g.ToTensor()": ("UnknownNameError", "Did you mean crop_mirror_normalize?"),
    "g.OneOf()": ("UnknownNameError", "Did you mean one_of?"),
    "g.resize(scale=(64, 64))": ("UnknownNameError", "Did you mean size?"),
    "g.random_resized_crop(size=64, scale=(0.2, 1))": ("UnknownNameError", "random_area?"),
    "g.rotate(limit=10)": ("UnknownNameError", "Did you mean angle?"),
    "g.imags": ("UnknownNameError", "Did you mean images?"),
    'g["rotat"]': ("UnknownNameError", "Did you mean rotate?"),
    'g["rotate"].angl': ("UnknownNameError", "Did you mean angle?"),
    'g["rotate"].set(angl=5)': ("UnknownNameError", "Did you mean angle?"),
    "g.with_settings(batchsize=3)": ("UnknownNameError", "Did you mean batch_size?"),
    "wb.random.unifrom(range=(0, 1))": ("UnknownNameError", "Did you mean uniform?"),
    "wb.random.uniform(low=0, high=1)": ("UnknownNameError", "Did you mean range?"),
    'wb.read("photos", random_shufle=True)': ("UnknownNameError", "Did you mean random_shuffle?"),
    'wb.read("photos", shuffle=True)': ("UnknownNameError", "Did you mean random_shuffle?"),
    'wb.export(g, "pytorhc")': ("GraphExportError", "Did you mean pytorch?"),
    'wb.loader(g, library="numpy", batchsize=4)': ("UnknownNameError", "Did you mean batch_size?"),
    'wb.loader(g, library="numpy", shuffle=True)': ("UnknownNameError", "random_shuffle=True"),
    'wb.loader(g, "tf")': ("ArgumentError", "library='tf'"),
    'wb.loader(g, library="numpy")[0]': ("UnsupportedUseError", "next(iter(loader))"),
    "wb.Engine(limit=3)": ("UnknownNameError", "Did you mean call_limit?"),
    # Wrong types
    'g.rotate(angle="left")': ("GraphFaultsError", "'left' is not a number"),
    "g.rotate(10)": ("GraphEditError", "Pass arguments by name: rotate(angle=...)"),
    "g.rotate(angle=np.random.uniform)": ("GraphEditError", "is not a valid argument value"),
    "wb.random.uniform(0, 10)": ("GraphEditError", "by name: random.uniform(range=...)"),
    "g.cast(dtype=float)": ("GraphEditError", "cast.dtype: <class 'float'> (type) is not a valid"),
    'g.cast(dtype="half")': ("GraphFaultsError", "Did you mean FLOAT16?"),
    'g.rotate(angle=5, interp_type="bilinear")': (
        "GraphFaultsError",
        "Did you mean INTERP_LINEAR?",
    ),
    "g.rotate(angle=5, interp_type='INTERP_CUBIC')": (
        "GraphFaultsError",
        "Use one of INTERP_NN, INTERP_LINEAR",
    ),
    "next(iter(wb.loader(g.crop(crop=(5000, 5000)), library='numpy')))": (
        "PipelineError",
        "crop: the window of 5000 x 5000 x 3 reaches outside",
    ),
    "g.rotate(angle=wb.random.uniform)": ("GraphEditError", "Call it: uniform(...)"),
    "g.rotate(angle=g)": ("GraphEditError", "(Graph) is not a valid argument value"),
    'g["rotate"].set(angle=None)': ("GraphEditError", "Use reset('angle')"),
    'g["rotate"].set({"angle": 3})': ("ArgumentError", "Pass arguments by name"),
    'g["rotate"] = 3': ("UnsupportedUseError", "graph['rotate'].set(ARGUMENT=...)"),
    'wb.fn["rotate"]': ("UnsupportedUseError", "wb.fn.rotate(graph, angle=5)"),
    'g.outputs["imags"]': ("UnknownNameError", "Did you mean images?"),
    "g.noise(3)": ("UnsupportedUseError", "Call one of them: noise.gaussian"),
    "g.decode(3)": ("GraphEditError", "Pass arguments by name: decoders.image(output_type=...)"),
    "g.with_p(0.5, dict)": ("GraphEditError", "An option cannot be called with a graph"),
    "g.one_of([lambda x: x, lambda x: x])": ("ArgumentError", "not in a list"),
    "g.some_of(lambda x: x, 1)": ("ArgumentError", "Use an integer"),
    'g("photos/cat/cat_01.jpg", 3)': ("ArgumentError", "draw=0, label=None"),
    'wb.Workbench("photos", g, restore="yes")': ("ArgumentError", "Use True or False"),
    "wb.from_pipeline(3)": ("ImportFailedError", "wb.from_file for a script"),
    "for x in g: pass": ("UnsupportedUseError", "Use wb.loader(graph) for batches"),
    "len(g)": ("UnsupportedUseError", "graph.batch(0).images"),
    "next(g)": ("UnsupportedUseError", "wb.loader(graph) for batches"),
    "np.array(g)": ("UnsupportedUseError", "A graph is not an array"),
    "next(wb.loader(g, library='numpy'))": ("UnsupportedUseError", "next(iter(loader))"),
    "wb.numba_node(len)": ("GraphEditError", "Write @wb.numba_node()"),
    "wb.read(g)": ("DataError", "cannot be read as data"),
    "g.stages": ("UnknownNameError", "w.stages() of a workbench"),
    "g.optimize": ("UnknownNameError", "wb.optimise(graph, data)"),
    'g["rotate"].outputs["x"]': ("UnknownNameError", "Use one of: output"),
    'g["rotate"].args["x"]': ("UnknownNameError", "Use one of: angle"),
    "g.settings.batch": ("UnknownNameError", "Did you mean batch_size?"),
    "g.outputs.images": ("UnknownNameError", "Use an item: ['images']"),
    "g.images.show()": ("UnknownNameError", "It is a method of graphs"),
    "wb.MeasurementConfig(rounds=-1)": ("ArgumentError", "Use a number of 0 or more"),
    "wb.MeasurementConfig(round=1)": ("UnknownNameError", "Did you mean rounds?"),
    "wb.Grid(thread=(1,))": ("UnknownNameError", "Did you mean threads?"),
    "wb.Grid(threads=(0,), batch_size=(8,))": ("ArgumentError", "Use ascending values"),
    "wb.watch(g)": ("ArgumentError", "loader has type Graph"),
    "wb.audit(g)": ("ArgumentError", "make_loader has type 'Graph'"),
    'wb.export(g).write("photos/cat/cat_01.jpg")': ("SaveError", "Name it cat_01.py"),
    'g.save("mine.png")': ("ArgumentError", "ends in .json"),
    "g[0]": ("UnsupportedUseError", "or a node's name: graph['reader']"),
    "g.with_p(0.5, g.flip())": ("ArgumentError", "Use a function of the graph"),
    "g.with_p(0.5, lambda x: None)": ("GraphEditError", "An option returned None"),
    "g.flip(p=2)": ("GraphEditError", "Use a number from 0 to 1"),
    "g > 3": ("UnsupportedUseError", "graph.images * 0.5"),
    "g @ g": ("UnsupportedUseError", "graph.images * 0.5"),
    "-g": ("UnsupportedUseError", "graph.images * 0.5"),
    "g + g": ("UnsupportedUseError", "graph.images * 0.5"),
    'g.images + "a"': ("GraphEditError", "Use a number"),
    "if g.labels == 3: pass": ("UnsupportedUseError", "Use if_else"),
    "for image in g.images: pass": ("UnsupportedUseError", "cannot be iterated"),
    "np.array(g.images)": ("UnsupportedUseError", "graph.batch(0) has the arrays"),
    "g.settings.batch_size = 3": ("UnsupportedUseError", "graph.with_settings(batch_size=...)"),
    'g["rotate"].angle = 5': ("GraphEditError", "set(angle=5)"),
    'g.outputs["x"] = 3': ("UnsupportedUseError", "cannot be changed in place"),
    'g["rotate"].mute("yes")': ("ArgumentError", "Use True or False"),
    "g.with_settings(8)": ("ArgumentError", "too many positional arguments"),
    "wb.outputs(images=5)": ("GraphEditError", "Pass a node's output"),
    'wb.check_graph("photos")': ("ArgumentError", "Use a Graph"),
    "g.diff(5)": ("ArgumentError", "Use a Graph"),
    "g(5)": ("DataError", "Pass a path, an array"),
    # Files that are missing, or are something else
    'wb.read("nope")': ("DataError", "There is no folder nope"),
    'wb.read("photos/*.jpg")': ("DataError", "Use * for part of a name"),
    'wb.read({"image": [b"", b""], "label": [1, 2]})': ("DataError", "Use pairs: list(zip("),
    'wb.read(["photos/cat/cat_01.jpg", "nope.jpg"])': ("DataError", "1 of 2 files is missing"),
    "wb.read([])": ("DataError", ""),
    'wb.read("photos", labels=[1, 2])': ("ArgumentError", "list(zip(paths, labels))"),
    'wb.read((["a.jpg", "b.jpg", "c.jpg"], [0, 1, 2]))': ("DataError", "list(zip(images, labels))"),
    "wb.read(np.zeros((3,)))": ("DataError", "Use the shape (N, height, width, 1 or 3)"),
    "wb.read(np.zeros((2, 8, 8, 3), np.uint8)).flip(p=0.5)": ("GraphEditError", "graph.decode()"),
    'wb.read_graph("nope.json")': ("GraphFormatError", "cannot be read"),
    'wb.load_graph("{}")': ("GraphFormatError", "not a graph file"),
    'wb.from_file("nope.py")': ("ImportFailedError", "cannot be read"),
    "wb.from_torchvision(5)": ("ImportFailedError", "not a transform of torchvision"),
    'g.save("nowhere/x.json")': ("SaveError", "was not written"),
    'wb.read("photos", files=["a.jpg"])': (
        "ArgumentError",
        "read sets 'files' of readers.file",
    ),
    'wb.read("nope-{0..3}.tar")': ("DataError", "a list of files: sorted(glob.glob('nope-*.tar'))"),
    'g("photos/cat")': ("DataError", "photos/cat is a folder"),
    'wb.read(["photos"])': ("DataError", "Pass one folder without a list"),
    'wb.load_report("nope.json")': ("RecordFormatError", "Pass the text of the file"),
    'g("photos/nope.jpg")': ("DataError", "There is no file"),
    'wb.loader(wb.load_recipe("simclr"), library="numpy")': ("DataError", "Pass data"),
    # Wrong shapes and values
    "g.resize(size=(0, 0))": ("GraphFaultsError", "Use a size above 0"),
    "g.resize(size=(64, 64, 64))": ("GraphFaultsError", "Use one number, or 2"),
    'g.resize(size="abc")': ("GraphFaultsError", "for example 224, 224"),
    "g.erase(anchor=0.3, shape=0.4)": ("GraphFaultsError", "Use 2 numbers (h, w)"),
    "g.resize()": ("GraphFaultsError", "resize requires size, resize_x"),
    "g.slice(axes=(0, 1))": ("GraphFaultsError", "slice requires start"),
    "g.warp_affine()": ("GraphFaultsError", "warp_affine requires matrix"),
    "g.erase()": ("GraphFaultsError", "erase requires anchor"),
    "g.gaussian_blur()": ("GraphFaultsError", "requires sigma or window_size"),
    "g.transpose(perm=(0, 1, 1))": ("GraphFaultsError", "Use each axis once"),
    'wb.read("photos", shard_id=5)': ("GraphFaultsError", "5 is not a shard of 1"),
    "g.flip(horizontal=2)": ("GraphFaultsError", "Use 0 or 1"),
    "g.crop_mirror_normalize(mean=[1, 2])": ("GraphFaultsError", "Use 3 numbers"),
    "wb.random.uniform(values=[])": ("GraphFaultsError", "Use one or more numbers"),
    "wb.random.uniform(range=(3, 1))": ("GraphFaultsError", "low then high"),
    "g.with_settings(batch_size=0)": ("ArgumentError", "from 1 to"),
    "wb.fn.cat(g.images, g.labels)": ("GraphFaultsError", "requires equal types"),
    'wb.read([("photos/cat/cat_01.jpg", "a"), "photos/cat/cat_02.jpg"])': ("DataError", "Item 1"),
    # The constructor, names of nodes and outputs, and attributes
    'wb.Graph("photos")': ("ArgumentError", 'wb.read("photos")'),
    "wb.Graph(g)": ("ArgumentError", "wb.outputs(images=...)"),
    "wb.Graph(g, g)": ("ArgumentError", "Use a string"),
    "wb.Graph([1])": ("ArgumentError", "without a name"),
    "wb.Graph(name=3)": ("ArgumentError", "Use a string"),
    "wb.Graph(nodes=(1,))": ("ArgumentError", "Use a tuple of Nodes"),
    "wb.Graph(settings=4)": ("ArgumentError", "Use wb.Settings()"),
    'wb.Graph(outputs={"images": 5})': ("ArgumentError", "Use a wb.Port"),
    "wb.Graph(foo=4)": ("UnknownNameError", "Graph has no argument 'foo'"),
    'g.rotate(angle=5, name="decode")': ("GraphEditError", "already has a node 'decode'"),
    "wb.outputs(g, g)": (
        "ArgumentError",
        "only keyword arguments. Use wb.outputs(view_1=..., ",
    ),
    "g.foo = 3": ("UnsupportedUseError", "graph[NODE].set(ARGUMENT=...)"),
    "g.batch_size = 4": ("UnsupportedUseError", "graph.with_settings(batch_size=...)"),
    "g.settings.batchsize = 4": ("UnknownNameError", "Did you mean batch_size?"),
    # The wrong place
    'wb.outputs(x=g.images, y=wb.read("photos/cat").decode().images)': (
        "GraphEditError",
        "name one of them: wb.read({'others': DATA})",
    ),
    "wb.read([np.zeros((8, 8, 3), np.uint8)]).flip()": ("GraphFaultsError", "call .decode() after"),
    'wb.read("photos").resize(size=(64, 64))': ("GraphFaultsError", ".decode()"),
    "g.decode()": ("GraphFaultsError", "it requires encoded"),
    "g.labels.rotate(angle=5)": ("GraphFaultsError", "it requires images"),
    'wb.Workbench(wb.load_recipe("simclr"))': ("ArgumentError", "The graph has no data"),
    'wb.Workbench("photos", g, layout="wide")': ("ArgumentError", "Use one of: side, stacked"),
    'wb.Workbench("photos", g, restor=True)': ("UnknownNameError", "Did you mean restore?"),
    "%%dali photos\nx = 1": ("ImportFailedError", "The cell has no pipeline of DALI"),
}
"""Mistake -> the class that is raised, and part of its message."""

RUN = {
    'import ipywidgets as v; v.link((w["rotate"], "angle"), (v.FloatSlider(), "value"))': (
        "UnsupportedUseError",
        "w.param('rotate.angle')",
    ),
    'w["rotate"] = 3': ("UnsupportedUseError", "w['rotate'].ARGUMENT = VALUE"),
    'w["rotate"]["angle"]': ("UnsupportedUseError", "Arguments are attributes"),
    'w.settings["batch_size"] = 3': ("UnsupportedUseError", "Use w.settings.batch_size"),
    'w["rotate"].observe(print)': ("UnsupportedUseError", "w.param('rotate.angle')"),
    "w.graph = None": ("ArgumentError", "Use a Graph, a recipe"),
    "w.settings = 3": ("UnknownNameError", "Use w.settings.batch_size = 4"),
    "w.rotate(angle=3)": ("UnknownNameError", "w.graph = w.graph.rotate(...)"),
    "w.images": ("UnknownNameError", "Use w.batch(0).images"),
    "w.preview.samplse": ("UnknownNameError", "Did you mean sample?"),
    'b.draws["rotate"]': ("UnknownNameError", "No node of the graph is random"),
    "b.plot(samples=3)": ("UnknownNameError", "It has output, rows, figsize, ax"),
    'w["rotat"]': ("UnknownNameError", "Did you mean rotate?"),
    'w["rotate"].angl = 5': ("UnknownNameError", "Did you mean angle?"),
    "w.show()": ("UnknownNameError", "w.batch(0).show()"),
    "w.batch_size = 3": ("UnknownNameError", "w.settings.batch_size"),
    "w.settings.batchsize = 3": ("UnknownNameError", "Did you mean batch_size?"),
    "w.preview.bacth = 3": ("UnknownNameError", "Did you mean batch?"),
    "w.preview.batch = 5000": ("GraphEditError", "0 to 999"),
    'w.target = "pytorhc"': ("ArgumentError", "Did you mean pytorch?"),
    'w.graph = "simcl"': ("GraphFormatError", "Did you mean simclr?"),
    'w["rotate"].angle = wb.random.uniform(range=(0, 9)); w.param("rotate.angle")': (
        "GraphEditError",
        "is set by the node angle, so it has no value to link",
    ),
    'w.param("rotate.angl")': ("GraphEditError", "Did you mean angle?"),
    "w.batch(0, samples=99)": ("GraphEditError", "Use 1 to 4"),
    "w.batch(0, sampels=2)": ("UnknownNameError", "Did you mean samples?"),
    'w.loader("tf")': ("GraphExportError", "Use one of"),
    'w.bench(device="cpu")': ("UnknownNameError", "Did you mean devices?"),
    "w.stages(second=3)": ("UnknownNameError", "Did you mean seconds?"),
    'w.share("mine.nope")': ("ArgumentError", "ends in .png"),
    'w.share("nowhere/mine.png")': ("SaveError", "was not written"),
    "b.imags": ("UnknownNameError", "Did you mean images?"),
    'b["imags"]': ("UnknownNameError", "Did you mean images?"),
    'b.to("tensorflow")': ("ArgumentError", "Use one of numpy, torch, jax, cupy"),
    'b.plot("labels")': ("GraphError", "has no pictures to plot"),
    'b.plot(rows="two")': ("ArgumentError", "Use an integer from 1"),
    "b.plot(ax=5)": ("ArgumentError", "Pass an Axes"),
    "g.gaussian_blur(window_size=4).batch(0)": ("PipelineError", "should have odd length"),
    "g.crop(crop=(640, 640)).batch(0)": ("PipelineError", "reaches outside the image"),
}
"""The same, of a workbench and of what runs in the worker."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, before = tmp_path_factory.mktemp("mistakes"), Path.cwd()
    write_samples(folder / "photos")
    os.chdir(folder)
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "workbench")
    assert made.run_cell(_START).success
    yield made
    for value in made.user_ns.values():
        if isinstance(value, wb.Workbench):
            value.close()
    InteractiveShell.clear_instance()
    os.chdir(before)


def _require_short(shell: Any, mistake: str, kind: str, words: str) -> None:
    shown = StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        ran = shell.run_cell(mistake)
    text = _COLOUR.sub("", shown.getvalue()).strip()
    raised = ran.error_in_exec
    assert raised is not None, f"passed silently: {text}"
    lines = len(text.splitlines())
    cell = mistake.replace("\n", "; ")
    message = str(raised).replace("|", "\\|").replace("\n", " ")
    print(f"| `{cell}` | {type(raised).__name__} | {lines} | {message} |")
    assert type(raised).__name__ == kind, raised
    assert isinstance(raised, wb.WorkbenchError)
    assert words in str(raised)
    assert "workbench/" not in text, "a frame of the workbench is shown"
    assert lines <= MOST_LINES


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_few_lines(shell: Any, mistake: str) -> None:
    _require_short(shell, mistake, *MISTAKES[mistake])


@pytest.mark.thorough
@pytest.mark.parametrize("mistake", RUN)
def test_a_mistake_with_a_workbench_is_a_few_lines(shell: Any, mistake: str) -> None:
    if "w" not in shell.user_ns:
        assert shell.run_cell(_WORKBENCH).success
    _require_short(shell, mistake, *RUN[mistake])
