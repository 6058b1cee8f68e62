"""Every target: golden files, formatting, types, help, missing packages, names of files."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given

import workbench as wb
from tests.emit.target_graphs import (
    FOLDERS_ALONE,
    PYTHON,
    RECIPES,
    REFUSED,
    WITHOUT_DALI,
    files_of,
    held,
)
from tests.emit.written_code import imports_in, ruff
from tests.helpers import CATALOG, CHAINS, HOSTILE, chain_graph, with_settings
from tests.thorough import examples, one_in
from workbench.emit.targets import Export, export, load_target, target_names
from workbench.errors import GraphExportError, SaveError
from workbench.graph import Graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_arg
from workbench.sources import load_source
from workbench.sources.class_folders import FIND_CLASS_FILES

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("target", REFUSED)
def test_a_target_that_cannot_carry_a_recipe_says_why(target: str) -> None:
    for name, reason in REFUSED[target].items():
        with pytest.raises(GraphExportError, match=reason):
            export(RECIPES[name], target, CATALOG)


SCRIPTS = tuple(name for name in RECIPES if name in held("script"))
GOLDEN_FILES = [
    *(("script", name, "") for name in SCRIPTS),
    ("albumentations", "imagenet-train", ""),
    ("dynamic", "imagenet-train", ""),
    ("huggingface", "imagenet-train", ""),
    ("jax", "imagenet-train", ""),
    ("keras", "imagenet-train", ""),
    ("lightning", "aerial", ""),
    ("notebook", "imagenet-train", ""),
    ("paddle", "imagenet-train", ""),
    ("proxy", "imagenet-train", ""),
    ("pytorch", "imagenet-train", "training"),
    ("ray", "imagenet-train", ""),
    ("tensorflow", "imagenet-train", ""),
    ("torchvision", "imagenet-train", ""),
    ("triton", "imagenet-train", ""),
]
"""Every script, and one program of each other target.

``targets/test_pipeline_functions.py`` compares the operators of all the others with the script's.
"""
TRAINING = ["pytorch", "lightning"]
SAMPLES = ["pytorch", "lightning", "jax"]
"""Those whose batches can have file names and random values."""


def trainable(target: str) -> dict[str, Graph]:
    """The recipes that say what is learned."""
    none = ("dino", "key-points", "test-time-views")
    return {name: graph for name, graph in held(target).items() if name not in none}


def sampled(target: str) -> dict[str, Graph]:
    """Recipes whose files have names: one that is validated, two views, several pipelines."""
    graphs = {name: held(target)[name] for name in ("rotate-jitter", "simclr")}
    return {**graphs, "several": with_settings(graphs["rotate-jitter"], pipelines=2)}


def golden_paths(target: str, recipe: str, with_: str) -> dict[Path, str]:
    """A single file is next to those of other recipes; several files are in their own folder."""
    files = files_of(RECIPES[recipe], target, with_)
    folder = GOLDEN / target / with_
    if len(files) > 1:
        return {folder / recipe / name: text for name, text in files.items()}
    ((name, text),) = files.items()
    return {folder / f"{recipe}{Path(name).suffix}": text}


@pytest.mark.parametrize(("target", "recipe", "with_"), GOLDEN_FILES)
def test_golden(target: str, recipe: str, with_: str, request: pytest.FixtureRequest) -> None:
    for path, text in golden_paths(target, recipe, with_).items():
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), "no golden file: look at the export, then pytest --update-golden"
        assert text == path.read_text(encoding="utf-8"), "if meant: pytest --update-golden"


def test_no_golden_file_of_anything_else() -> None:
    meant = {path for each in GOLDEN_FILES for path in golden_paths(*each)}
    assert {path for path in GOLDEN.rglob("*") if path.is_file()} == meant


@cache
def own_lines(kind: str) -> list[tuple[str, str]]:
    """What an export has of the workbench's own lines: as they are, 100 long, and as ruff's."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    found = []
    for own in re.split(r"\n{3,}", load_source(kind).find_source.strip()):
        done = subprocess.run(command, input=own, capture_output=True, text=True, check=True)
        found.append((own, done.stdout.rstrip("\n")))
    return found


@pytest.mark.parametrize("target", one_in(8, target_names()))
def test_exports_of_every_recipe_are_as_ruff_would_have_them(target: str, tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    every = [("", *item) for item in held(target).items()]
    if target in TRAINING:
        every += [("training", *item) for item in trainable(target).items()]
        every += [("training+samples", *item) for item in sampled(target).items()]
    if target in SAMPLES:
        every += [("samples", *item) for item in sampled(target).items()]
    if target == "dynamic":
        every += [("capture", *item) for item in held("dynamic").items()]
    for with_, recipe, graph in every:
        for name, text in files_of(graph, target, with_).items():
            if graph.sources[0].kind != "folder":
                if target == "notebook":
                    continue  # its cells hold the own lines one by one
                for own, formatted in own_lines(graph.sources[0].kind):
                    text = text.replace(own, formatted)
            path = tmp_path / with_ / recipe / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", one_in(3, PYTHON))
def test_exports_run_without_the_workbench(target: str) -> None:
    for graph in held(target).values():
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
    cases["loose"] = chain_graph("hue", "resize")
    cases["fixed"] = set_arg(graph, CATALOG, "reader", "file_root", "photos")
    for target in target_names():
        for case, made in cases.items():
            if target in WITHOUT_DALI and case == "loose":
                continue  # images of several sizes are refused
            for name, text in files_of(made, target).items():
                path = tmp_path / f"{target}_{case}_{name.replace('/', '_')}"
                path.write_text(text.replace("\ud800", ""), encoding="utf-8")
                if name.endswith(".py"):
                    compile(text, name, "exec")
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@examples(4, thorough=200)
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
    able = {"script", "notebook", "ray"}
    assert not able & set(refused)
    assert set(refused.values()) <= {node.id for node in graph.nodes}


@pytest.mark.parametrize("target", target_names())
@pytest.mark.parametrize("name", ["file_root", "file_list", "files"])
def test_who_names_the_files_is_asked_for_no_folder(target: str, name: str) -> None:
    graph = load_recipe("imagenet-train")
    named = set_arg(graph, CATALOG, "reader", name, ("a.jpg",) if name == "files" else "list.txt")
    told = re.compile(
        r"--data|file_root=data|args\.data\b|\bdata: str|^ *data,|folder of images", re.M
    )
    if target in FOLDERS_ALONE and name != "file_root":
        with pytest.raises(
            GraphExportError, match=rf"^reader\.{name}: .* not support '{name}'\. Reset"
        ):
            export(named, target, CATALOG)
        return
    usual, own = (
        "\n".join(files_of(g, target).values()).replace(FIND_CLASS_FILES.strip(), "")
        for g in (graph, named)
    )
    assert bool(told.search(usual)) == (target != "triton")
    assert not told.search(own)
    for text in (text for path, text in files_of(named, target).items() if path.endswith(".py")):
        text = text.replace(FIND_CLASS_FILES.strip(), "")
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        assert not any(arg.arg == "data" for f in functions for arg in f.args.args)


@pytest.mark.parametrize("target", ["pytorch", "lightning", "jax", "tensorflow", "paddle"])
def test_photos_of_several_sizes_make_no_array(target: str) -> None:
    with pytest.raises(
        GraphExportError,
        match=r"hue: .* may differ in size, .* depends on the data. Add a resize",
    ):
        export(chain_graph("hue"), target, CATALOG)
    assert export(chain_graph("hue", "resize"), target, CATALOG)


@pytest.mark.parametrize(
    "targets",
    [["script", "pytorch"], pytest.param(PYTHON, marks=pytest.mark.thorough)],
    ids=["two", "all"],
)
def test_exports_are_typed(targets: Sequence[str], tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for target in targets:
        views = next(name for name in ("simclr", "two-view") if name in held(target))
        graphs = {name: held(target)[name] for name in ("imagenet-train", views)}
        name = "file_root" if target in FOLDERS_ALONE else "file_list"
        graphs["named"] = set_arg(RECIPES["two-view"], CATALOG, "reader", name, "list.txt")
        cases = [(case, graph, "") for case, graph in graphs.items()]
        if target in TRAINING:
            cases += [(name, RECIPES[name], "training") for name in ("cutout", "ssd")]
        if target in SAMPLES:
            cases += [(name, RECIPES[name], "samples") for name in ("rotate-jitter", "simclr")]
        if target in TRAINING:
            cases.append(("cutout", RECIPES["cutout"], "training+samples"))
        if target == "dynamic":
            cases.append(("rotate-jitter", RECIPES["rotate-jitter"], "capture"))
        for case, graph, with_ in cases:
            for name, text in files_of(graph, target, with_).items():
                if name.endswith(".py"):
                    stem = re.sub(r"\W", "_", f"{target}_{with_}_{case}_{Path(name).stem}")
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
def test_needed_packages_are_named_at_the_top(target: str) -> None:
    for name, text in files_of(load_recipe("imagenet-eval"), target).items():
        if name.endswith(".py"):
            needed = (ast.get_docstring(ast.parse(text)) or "").splitlines()[-1]
            assert needed.startswith("Needs "), name
            imported = {each.partition(".")[0] for each in imports_in(text)}
            named = {"nvidia": "nvidia-dali", "paddle": "paddlepaddle"}
            others = imported - sys.stdlib_module_names - {"numpy"}
            assert all(named.get(each, each) in needed for each in others), (others, needed)


COMMANDS = [*((target, "") for target in ("script", "dynamic", "paddle", "ray"))]
COMMANDS += [(target, "training") for target in TRAINING]
"""Targets whose programs have a command line, and with what."""


@pytest.mark.parametrize(("target", "with_"), COMMANDS)
@pytest.mark.parametrize("name", ["train_photos.py", "a \"b\" \\ 'c'\n.py"])
def test_the_usage_line_names_the_file_that_is_written(
    name: str, target: str, with_: str, tmp_path: Path
) -> None:
    graph = load_recipe("imagenet-eval")
    made = export(graph, target, CATALOG, with_=with_)
    path, *_ = made.write(tmp_path / name)
    usage = [line for line in docstring(path.read_text()).splitlines() if ".py" in line]
    assert usage[0].startswith("Usage: python ")
    for line in usage:
        before, _, after = line.partition(".py")
        words = shlex.split(f"{before}.py'" if before.count("'") % 2 else f"{before}.py")
        assert words[-1] == name.replace("\n", "?"), line
        assert after.lstrip("'").startswith(" --data DIR")
    for other in (path, path.with_name("renamed.py")):
        path = path.rename(other)
        found = wb.from_file(path)
        assert found.graph == graph
        assert found.report.is_exact
        assert found.document.origins["decode"].startswith(f"{path.name}:")


@pytest.mark.parametrize("target", target_names())
def test_every_program_says_how_it_is_used(target: str) -> None:
    """By a command that it has, or by lines of Python that use what it defines."""
    for with_ in ("", *load_target(target).additions):
        exported = export(load_recipe("imagenet-eval"), target, CATALOG, with_=with_)
        for path, code in exported.files.items():
            if path.endswith(".ipynb"):  # runs as it is, and says at its head what it needs
                first, *cells = json.loads(code.text)["cells"]
                assert "It needs `nvidia-dali-cuda120`" in "".join(first["source"])
                assert cells[0]["cell_type"] == "code"
            elif path.endswith(".py"):
                text = docstring(code.text)
                if "Usage: " in text:
                    assert f"Usage: python {Path(path).name}" in text
                    assert 'if __name__ == "__main__":\n    main()\n' in code.text
                else:
                    assert uses(text) & defined(code.text), path
            else:
                assert path.endswith("config.pbtxt")  # of a model whose folder has a client


def docstring(text: str) -> str:
    return ast.get_docstring(ast.parse(text)) or ""


def uses(text: str) -> set[str]:
    """The names that the Python lines of a docstring call."""
    example = dedent("\n".join(line for line in text.splitlines() if line.startswith("    ")))
    calls = [node.func for node in ast.walk(ast.parse(example)) if isinstance(node, ast.Call)]
    return {each.id for each in calls if isinstance(each, ast.Name)}


def defined(text: str) -> set[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(text).body if isinstance(node, kinds)}


def test_the_lines_of_each_node_are_known() -> None:
    graph = load_recipe("imagenet-train")
    for target in set(target_names()) - {"notebook", *WITHOUT_DALI}:
        with_ = "training" if target == "triton" else ""
        main = export(graph, target, CATALOG, with_=with_).main
        lines = main.text.splitlines()
        for node, places in main.lines.items():
            found = "\n".join(lines[places.start - 1 : places.stop - 1])
            assert f".{graph.node(node).op}(" in found, (target, node)
        left_out = {"reader"} if target in ("triton", "dynamic", "proxy") else set()
        assert set(main.lines) == {node.id for node in graph.nodes} - left_out


def test_what_does_not_train_says_so() -> None:
    with pytest.raises(GraphExportError, match=r"does not support a training loop\. .* pytorch"):
        export(load_recipe("cutout"), "script", CATALOG, with_="training")
    with pytest.raises(GraphExportError, match="with_ is 'trainer'"):
        export(load_recipe("cutout"), "pytorch", CATALOG, with_="trainer")
    for name in ("dino", "key-points", "test-time-views"):
        with pytest.raises(GraphExportError, match="no learning task fits the outputs"):
            export(load_recipe(name), "pytorch", CATALOG, with_="training")


def test_an_unknown_target_names_the_nearest() -> None:
    with pytest.raises(GraphExportError, match="Did you mean pytorch"):
        export(load_recipe("simclr"), "pytorc")
    with pytest.raises(GraphExportError, match="Available: script, "):
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
        ("script", "nvidia.py", "hides the module 'nvidia', .* for example pipe.py"),
        (
            "script",
            "folder/numpy.py",
            "folder/numpy.py was not written: .* hides the module 'numpy'",
        ),
        ("script", "random.py", "hides the module 'random'"),
        ("pytorch", "torch.py", "hides the module 'torch'"),
        ("tensorflow", "tensorflow.py", "hides the module 'tensorflow'"),
        ("paddle", "paddle.py", "hides the module 'paddle'"),
        ("ray", "pyarrow.py", "hides the module 'pyarrow'"),  # imported in a function
        ("notebook", "train.py", r"a \.ipynb file, not \.py\. Name it train\.ipynb"),
        ("script", "train.ipynb", r"a \.py file, not \.ipynb\. Name it train\.py"),
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


# Every target writes Python that parses, for every recipe, with a long list of odd file names.

FILES = tuple(f'/data/train set/it\'s a "photo"-{n:02} of-the-day.jpg' for n in range(50))


def with_files(graph: Graph) -> Graph:
    """The graph whose readers have the list, where the operator has such an argument."""
    for source in graph.sources:
        if "files" in CATALOG[source.op].args:
            graph = set_arg(graph, CATALOG, source.id, "files", FILES)
    return graph


def programs(exported: Export) -> Iterator[str]:
    for path, code in exported.files.items():
        if path.endswith(".py"):
            yield code.text
        elif path.endswith(".ipynb"):
            cells = json.loads(code.text)["cells"]
            yield "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def exported(recipe: str, target: str) -> tuple[Export, bool] | None:
    """The recipe with the list, else without, else nothing, as the target accepts it."""
    plain = load_recipe(recipe)
    for graph in (with_files(plain), plain):
        with suppress(GraphExportError):
            return export(graph, target, CATALOG), graph != plain
    return None


@pytest.mark.parametrize("target", one_in(5, target_names()))
def test_every_program_parses_and_keeps_every_name(target: str) -> None:
    found = {recipe: exported(recipe, target) for recipe in load_recipes()}
    assert any(found.values())
    for recipe, one in found.items():
        trees = [ast.parse(text) for text in programs(one[0])] if one else []
        if one and one[1] and target != "triton":  # a client of Triton sends the photos
            nodes = [node for tree in trees for node in ast.walk(tree)]
            strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
            assert set(FILES) <= strings, recipe
