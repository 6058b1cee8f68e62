"""Every target: golden files, formatting, types, help, missing packages, and what is refused."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.emit.test_script import HOSTILE, imports_in, ruff
from tests.helpers import CHAINS, chain_graph
from tests.placed import placed
from workbench.catalog import load_catalog
from workbench.emit.targets import export, load_target, target_names
from workbench.errors import GraphExportError, GraphFaultsError, SaveError
from workbench.graph import Graph, Node, Port, load_recipe, load_recipes
from workbench.graph.compose import place_node
from workbench.graph.edit import set_arg, set_setting

CATALOG = load_catalog()
GOLDEN = Path(__file__).parent / "golden"
RECIPES = load_recipes()
TARGETS = [name for name in target_names() if name != "script"]
"""``script`` has its golden files in ``test_script.py``."""
PYTHON = [name for name in target_names() if name != "notebook"]


def files_of(graph: Graph, target: str) -> Mapping[str, str]:
    return {name: file.text for name, file in export(graph, target, CATALOG).files.items()}


def golden_paths(target: str, recipe: str, files: Mapping[str, str]) -> dict[Path, str]:
    """One file lies beside those of other recipes, several in a folder of their own."""
    if len(files) > 1:
        return {GOLDEN / target / recipe / name: text for name, text in files.items()}
    ((name, text),) = files.items()
    return {GOLDEN / target / f"{recipe}{Path(name).suffix}": text}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("target", TARGETS)
def test_golden(target: str, recipe: str, request: pytest.FixtureRequest) -> None:
    paths = golden_paths(target, recipe, files_of(RECIPES[recipe], target))
    for path, text in paths.items():
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), "no golden file: look at the export, then pytest --update-golden"
        assert text == path.read_text(encoding="utf-8"), "if meant: pytest --update-golden"


@pytest.mark.parametrize("target", TARGETS)
def test_no_golden_file_without_its_recipe(target: str) -> None:
    assert {path.name.split(".")[0] for path in (GOLDEN / target).iterdir()} == set(RECIPES)


def test_no_golden_folder_without_its_target() -> None:
    assert {path.name for path in GOLDEN.iterdir() if path.is_dir()} == set(TARGETS)


@pytest.mark.parametrize("target", PYTHON)
def test_exports_run_without_the_workbench(target: str) -> None:
    for graph in RECIPES.values():
        for name, text in files_of(graph, target).items():
            assert "workbench" not in text
            if name.endswith(".py"):
                compile(text, name, "exec")
                assert "workbench" not in {top.split(".")[0] for top in imports_in(text)}


def test_hostile_graphs_are_as_ruff_would_have_them(tmp_path: Path) -> None:
    """Long names, texts that would be code, one output, many outputs."""
    pytest.importorskip("ruff")
    graph = load_recipe("imagenet-train")
    cases = {f"text_{i}": replace(graph, name=t, about=t) for i, t in enumerate(HOSTILE)}
    cases["long"] = replace(graph, name="a_name_" * 8)
    cases["one"] = replace(graph, outputs={"images": graph.outputs["images"]})
    many = {f"the_images_number_{index}": graph.outputs["images"] for index in range(9)}
    cases["many"] = replace(graph, outputs=many)
    cases["loose"] = chain_graph("hue")
    cases["fixed"] = set_arg(graph, CATALOG, "reader", "file_root", "photos")
    for target in target_names():
        for case, made in cases.items():
            for name, text in files_of(made, target).items():
                path = tmp_path / f"{target}_{case}_{name.replace('/', '_')}"
                path.write_text(text.replace("\ud800", ""), encoding="utf-8")
                if name.endswith(".py"):
                    compile(text, name, "exec")
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@settings(max_examples=10)
@given(CHAINS)
def test_any_chain_goes_to_every_target(graph: Graph) -> None:
    refused: dict[str, str] = {}
    for target in target_names():
        try:
            files = files_of(graph, target)
        except GraphExportError as error:
            refused[target] = re.split(r"[.:]", str(error))[0]
            continue
        for name, text in files.items():
            if name.endswith(".py"):
                compile(text, name, "exec")
    assert set(refused) <= {"dynamic", "tensorflow", "triton", "pytorch", "lightning", "paddle"}
    assert set(refused.values()) <= {node.id for node in graph.nodes}


@pytest.mark.parametrize("target", target_names())
@pytest.mark.parametrize("name", ["file_root", "file_list", "files"])
def test_who_names_the_files_is_asked_for_no_folder(target: str, name: str) -> None:
    graph = load_recipe("imagenet-train")
    named = set_arg(graph, CATALOG, "reader", name, ("a.jpg",) if name == "files" else "list.txt")
    told = re.compile(r"--data|find_files|args\.data|\bdata: str|^ *data,|folder of images", re.M)
    usual, own = ("\n".join(files_of(g, target).values()) for g in (graph, named))
    assert bool(told.search(usual)) == (target != "triton")
    assert not told.search(own)
    for text in (text for path, text in files_of(named, target).items() if path.endswith(".py")):
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        assert not any(arg.arg == "data" for f in functions for arg in f.args.args)


def test_a_loader_says_that_nothing_gives_its_images_one_size() -> None:
    for target in ("pytorch", "lightning", "jax", "tensorflow", "paddle"):
        loose = export(chain_graph("hue"), target, CATALOG).main.text
        assert "Nothing in the pipeline gives ``images`` one size" in loose
        fixed = export(load_recipe("imagenet-eval"), target, CATALOG).main.text
        assert "one size" not in fixed


def test_exports_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for target in PYTHON:
        graphs = {name: RECIPES[name] for name in ("imagenet-train", "simclr")}
        graphs["named"] = set_arg(RECIPES["simclr"], CATALOG, "reader", "file_list", "list.txt")
        for case, graph in graphs.items():
            for name, text in files_of(graph, target).items():
                if name.endswith(".py"):
                    stem = f"{target}_{case}_{Path(name).stem}".replace("-", "_")
                    (tmp_path / f"{stem}.py").write_text(text)
    options = ["--disallow-untyped-defs", "--disallow-incomplete-defs", "--check-untyped-defs"]
    options += ["--ignore-missing-imports", "--follow-imports=skip", "--warn-unreachable"]
    config = tmp_path / "mypy.ini"  # DALI's own types lack rng, among others
    config.write_text("[mypy]\n[mypy-nvidia.*]\nfollow_imports_for_stubs = True\n")
    files = sorted(map(str, tmp_path.glob("*.py")))
    command = [sys.executable, "-m", "mypy", f"--config-file={config}", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("target", PYTHON)
def test_missing_packages_are_named(target: str, tmp_path: Path) -> None:
    for name, text in files_of(load_recipe("imagenet-eval"), target).items():
        if not name.endswith(".py"):
            continue
        path = tmp_path / Path(name).name
        path.write_text(text)
        block = next(node for node in ast.parse(text).body if isinstance(node, ast.Try))
        first = block.body[0]
        assert isinstance(first, ast.Import | ast.ImportFrom)
        package = first.names[0].name if isinstance(first, ast.Import) else str(first.module)
        code = f"import runpy, sys; sys.modules[{package!r}] = None; runpy.run_path({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("ImportError: "), last
        assert package in last
        assert "Needed: " in last
        assert package.split(".")[0].replace("nvidia", "nvidia-dali-cuda120") in last


PACKAGES = {
    "script": "nvidia.dali", "dynamic": "nvidia.dali", "pytorch": "torch", "jax": "jax",
    "lightning": "lightning", "ray": "ray", "tensorflow": "nvidia.dali_tf_plugin",
}  # fmt: skip


@pytest.mark.parametrize("target", PACKAGES)
def test_help(target: str, tmp_path: Path) -> None:
    if find_spec(PACKAGES[target]) is None:
        pytest.skip(f"{PACKAGES[target]} is not installed")
    path = tmp_path / "exported.py"
    path.write_text(export(load_recipe("imagenet-eval"), target, CATALOG).main.text)
    command = [sys.executable, str(path), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for option in ("--data", "--device", "--batch-size", "--threads"):
        assert option in done.stdout


def test_the_lines_of_each_node_are_known() -> None:
    graph = load_recipe("imagenet-train")
    for target in set(TARGETS) - {"notebook"}:
        main = export(graph, target, CATALOG).main
        lines = main.text.splitlines()
        for node, places in main.lines.items():
            found = "\n".join(lines[places.start - 1 : places.stop - 1])
            assert f".{graph.node(node).op}(" in found, (target, node)
        left_out = {"reader"} if target in ("triton", "dynamic") else set()
        assert set(main.lines) == {node.id for node in graph.nodes} - left_out


def test_an_unknown_target_names_the_nearest() -> None:
    with pytest.raises(GraphExportError, match="Did you mean pytorch"):
        export(load_recipe("simclr"), "pytorc")
    with pytest.raises(GraphExportError, match="There are script, "):
        export(load_recipe("simclr"), "xyz")


@pytest.mark.parametrize("target", [name for name in target_names() if name != "triton"])
def test_a_file_may_have_a_name_that_hides_no_module(target: str) -> None:
    exported = export(load_recipe("imagenet-eval"), target, CATALOG)
    (own,) = exported.files
    for name in (own, f"folder/{own}", "train" + Path(own).suffix, "jax_loader", "/dev/stdout"):
        exported.require_name(name)


@pytest.mark.parametrize(
    ("target", "name", "message"),
    [
        ("script", "nvidia.py", "hide the module nvidia, .* for example pipe.py"),
        ("script", "folder/numpy.py", "folder/numpy.py was not written: .* hide the module numpy"),
        ("script", "random.py", "hide the module random"),
        ("pytorch", "torch.py", "hide the module torch"),
        ("tensorflow", "tensorflow.py", "hide the module tensorflow"),
        ("paddle", "paddle.py", "hide the module paddle"),
        ("ray", "pyarrow.py", "hide the module pyarrow"),  # imported in a function
        ("notebook", "train.py", r"ends in \.ipynb, not \.py\. Name it train\.ipynb"),
        ("script", "train.ipynb", r"ends in \.py, not \.ipynb\. Name it train\.py"),
    ],
)
def test_a_name_under_which_the_code_could_not_run(target: str, name: str, message: str) -> None:
    exported = export(load_recipe("imagenet-eval"), target, CATALOG)
    with pytest.raises(SaveError, match=message):
        exported.require_name(name)


def test_every_target_says_what_it_is() -> None:
    assert target_names()[0] == "script"
    for name in target_names():
        assert load_target(name).about


def test_a_graph_with_faults_goes_nowhere() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "angle", "ten")
    for target in target_names():
        with pytest.raises(GraphFaultsError, match=r"rotate\.angle"):
            export(graph, target, CATALOG)


SHARDING = ("pytorch", "lightning", "jax", "tensorflow", "paddle", "ray")


@pytest.mark.parametrize("target", SHARDING)
def test_a_shard_of_its_own_is_refused(target: str) -> None:
    graph = set_arg(load_recipe("simclr"), CATALOG, "reader", "num_shards", 4)
    with pytest.raises(GraphExportError, match=r"reader\.num_shards: it is 4"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", SHARDING)
def test_one_shard_of_one_is_no_shard(target: str) -> None:
    """As training scripts say it that are given a rank and how many there are."""
    graph = load_recipe("imagenet-train")
    usual = export(graph, target, CATALOG)
    for name, value in {"shard_id": 0, "num_shards": 1, "pad_last_batch": False}.items():
        graph = set_arg(graph, CATALOG, "reader", name, value)
    assert graph.node("reader").args.keys() >= {"shard_id", "num_shards", "pad_last_batch"}
    assert export(graph, target, CATALOG) == usual


@pytest.mark.parametrize("target", SHARDING)
def test_who_counts_on_the_next_shard_takes_no_reader_that_stays(target: str) -> None:
    graph = set_arg(load_recipe("imagenet-train"), CATALOG, "reader", "stick_to_shard", True)
    if target in ("pytorch", "lightning", "paddle"):  # DALI's iterator knows
        assert "stick_to_shard=True" in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=r"reader\.stick_to_shard: it is True"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", ["pytorch", "lightning"])
def test_training_needs_an_image(target: str) -> None:
    graph = load_recipe("simclr")
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    with pytest.raises(GraphExportError, match=r"reader: .* needs an image"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", SHARDING)
def test_encoded_images_make_no_array(target: str) -> None:
    graph = load_recipe("imagenet-eval")
    graph = replace(graph, outputs={**graph.outputs, "files": Port("reader", "jpegs")})
    if target == "ray":
        assert "files" in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=r"reader\.jpegs: .* the output files gives encoded"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", SHARDING)
def test_labels_that_are_no_class_numbers_stay_as_they_are(target: str) -> None:
    """Classes as vectors, with fractions where they are smoothed."""
    text = export(with_classes(load_recipe("imagenet-eval")), target, CATALOG).main.text
    assert 'OUTPUTS = ["images", "labels", "classes"]' in text
    if target == "ray":
        assert 'LABELS = ["labels"]' in text
        return
    assert 'batch["labels"] = ' in text
    assert 'batch["classes"] = ' not in text


@pytest.mark.parametrize("target", target_names())
def test_types_that_the_iterator_does_not_know(target: str) -> None:
    graph = load_recipe("imagenet-eval")
    inputs = {CATALOG["reductions.sum"].inputs[0].name: graph.outputs["images"]}
    total = Node("total", "reductions.sum", {"dtype": "UINT64"}, inputs)
    outputs = {**graph.outputs, "total": Port("total", "output")}
    graph = replace(graph, nodes=(*graph.nodes, total), outputs=outputs)
    if target in ("pytorch", "lightning", "paddle"):
        with pytest.raises(GraphExportError, match=r"total: .* of UINT64, .* cast after total"):
            export(graph, target, CATALOG)
        return
    text = export(graph, target, CATALOG).main.text
    assert ("cut to 32, unless ``jax_enable_x64``" in text) == (target == "jax")


@pytest.mark.parametrize("target", PYTHON)
def test_nothing_is_imported_over_something_else(target: str) -> None:
    """``math`` is Python's or DALI's."""
    graph, node = place_node(load_recipe("imagenet-eval"), CATALOG, "math.abs")
    graph = replace(graph, outputs={**graph.outputs, "sizes": Port(node, "output")})
    inputs = {"data": graph.outputs["images"]}
    nodes = [replace(n, inputs=inputs) if n.id == node else n for n in graph.nodes]
    text = export(replace(graph, nodes=tuple(nodes)), target, CATALOG).main.text
    imported = [
        alias.asname or alias.name
        for statement in ast.walk(ast.parse(text))
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    ]
    assert ("math" in imported) == (target != "dynamic")
    assert len(imported) == len(set(imported))


@pytest.mark.parametrize(
    ("index", "alike"),
    [
        (":, :, 0", False),
        (":, :, 0:2", False),
        ("0:9", True),
    ],
)
def test_views_are_pictures_alike(index: str, alike: bool) -> None:
    graph, node = place_node(chain_graph("resize"), CATALOG, "subscript", Port("resize", "output"))
    graph = set_arg(graph, CATALOG, node, "index", index)
    graph = replace(graph, outputs={**graph.outputs, "part": Port(node, "output")})
    text = export(graph, "pytorch", CATALOG).main.text
    assert ("InfoNCE" in text) == alike
    assert ('model(batch["part"]' in text) == alike


def test_a_picture_without_channels_gets_an_axis_for_them() -> None:
    graph, node = place_node(chain_graph("resize"), CATALOG, "subscript", Port("resize", "output"))
    graph = set_arg(graph, CATALOG, node, "index", ":, :, 0")
    graph = replace(graph, outputs={"grey": Port(node, "output")})
    text = export(graph, "pytorch", CATALOG).main.text
    assert 'model(batch["grey"].unsqueeze(1).float() / 255)' in text
    assert "nn.Conv2d(1, 32" in text


def test_triton_needs_more_than_labels() -> None:
    graph = load_recipe("simclr")
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    with pytest.raises(GraphExportError, match="reader: every output is what it reads"):
        export(graph, "triton", CATALOG)


def with_classes(graph: Graph) -> Graph:
    """The graph with an output made from its labels alone."""
    name = CATALOG["one_hot"].inputs[0].name
    inputs = {name: Port("reader", "labels")}
    classes = Node("classes", "one_hot", {"num_classes": 12}, inputs)
    outputs = {**graph.outputs, "classes": Port("classes", "output")}
    return replace(graph, nodes=(*graph.nodes, classes), outputs=outputs)


def test_triton_leaves_out_what_is_made_from_labels() -> None:
    usual = files_of(load_recipe("imagenet-eval"), "triton")
    assert files_of(with_classes(load_recipe("imagenet-eval")), "triton") == usual


def test_triton_refuses_what_a_client_does_not_send() -> None:
    graph = load_recipe("imagenet-eval")
    inputs = {"data": graph.outputs["images"], "right": graph.outputs["labels"]}
    graph = replace(graph, nodes=(*graph.nodes, Node("both", "math.mul", {}, inputs)))
    graph = replace(graph, outputs={"both": Port("both", "output")})
    with pytest.raises(GraphExportError, match=r"both\.right: it is fed by reader\.labels"):
        export(graph, "triton", CATALOG)


@pytest.mark.parametrize("target", target_names())
def test_a_graph_that_gives_out_nothing_of_what_it_reads(target: str) -> None:
    graph, node = place_node(load_recipe("imagenet-eval"), CATALOG, "random.uniform")
    graph = replace(graph, outputs={"numbers": Port(node, "output")})
    if target in ("script", "notebook"):
        assert "fn.readers" not in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=f"{node}: "):
        export(graph, target, CATALOG)


def test_dynamic_refuses_what_it_does_not_have() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "preserve", True)
    with pytest.raises(GraphExportError, match=r"rotate\.preserve: DALI's dynamic mode"):
        export(graph, "dynamic", CATALOG)
    graph, _ = placed(CATALOG["get_property"])
    graph = replace(graph, outputs={**graph.outputs, "labels": Port("reader", "labels")})
    with pytest.raises(GraphExportError, match=r"get_property\.key: it is source_info"):
        export(graph, "dynamic", CATALOG)


@pytest.mark.parametrize(
    "args",
    [
        {"fdata": (1.5,), "dtype": "INT32"},
        {"idata": (300,), "dtype": "UINT8"},
        {"idata": (1,), "dtype": "FLOAT"},
        {"idata": (1, 2), "shape": (3,)},
    ],
)
def test_dynamic_takes_constants_as_they_are(args: Mapping[str, Any]) -> None:
    graph = load_recipe("imagenet-eval")
    graph = replace(graph, nodes=(*graph.nodes, Node("values", "constant", args)))
    graph = replace(graph, outputs={**graph.outputs, "values": Port("values", "output")})
    with pytest.raises(GraphExportError, match=r"values: [fi]data of type .* would be converted"):
        export(graph, "dynamic", CATALOG)


def test_operators_that_dynamic_leaves_out_are_those_that_dali_has_not() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    from workbench.emit.targets.dynamic import is_missing

    for op in CATALOG.values():
        if op.written:
            continue  # Python's operators, or ndd.math, and run in tests/emit/test_expressions.py
        home, name = ndd, op.name
        if op.name.startswith("readers."):
            name = "readers." + op.schema.split("__")[-1]
        for part in name.split("."):
            home = getattr(home, part, None)
        assert (home is None) == is_missing(op.name), op.name


def test_triton_asks_for_the_device_of_the_graph() -> None:
    graph = load_recipe("imagenet-eval")
    for device, kind in (("cpu", "KIND_CPU"), ("mixed", "KIND_GPU")):
        files = files_of(set_setting(graph, device=device), "triton")
        config = next(text for name, text in files.items() if name.endswith("config.pbtxt"))
        assert f"kind: {kind}" in config
        assert "dims: [ 3, 224, 224 ]" in config
        assert "TYPE_FP32" in config


def test_a_notebook_is_one() -> None:
    nbformat = pytest.importorskip("nbformat")
    for graph in RECIPES.values():
        text = files_of(graph, "notebook")["pipeline.ipynb"]
        nbformat.validate(nbformat.reads(text, as_version=4))
        assert json.loads(text)["nbformat"] == 4
