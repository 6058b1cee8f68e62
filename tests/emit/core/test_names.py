"""Names and texts of a graph, hostile ones too, in emitted source."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.written_code import calls_in, expected_calls
from tests.helpers import (
    CATALOG,
    CHAINS,
    HOSTILE,
    NO_NAMES,
    TEXTS,
    chain_graph,
    import_script,
    photo_recipes,
    same,
    script_batches,
    with_nodes,
    with_settings,
)
from tests.thorough import one_in
from workbench.catalog import Catalog
from workbench.emit import emit_script
from workbench.emit.core.naming import RESERVED, name_outputs
from workbench.emit.targets import export, target_names
from workbench.emit.templates.template_parts import function_name
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, Node, Port, load_recipe, load_recipes
from workbench.graph.edits.edit import insert_node, renamed_nodes, renamed_ports, set_arg
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import outputs_of


@given(TEXTS, TEXTS)
def test_name_and_description_never_become_code(name: str, about: str) -> None:
    graph = replace(load_recipe("imagenet-train"), name=name, about=about)
    text = emit_script(graph, CATALOG).text
    assert calls_in(text) == expected_calls(graph)
    assert function_name(graph).isidentifier()


@pytest.mark.parametrize(
    "about",
    [*HOSTILE, *("a" * n + "\\x\\N" for n in range(75, 87)), "\\" * 5000, "x" * 10_000, " \x00 a"],
)
def test_hostile_descriptions_compile_without_a_warning(
    about: str, recwarn: pytest.WarningsRecorder
) -> None:
    for name in ("", "name"):
        graph = replace(load_recipe("imagenet-eval"), name=name, about=about)
        text = emit_script(graph, CATALOG).text
        assert calls_in(text) == expected_calls(graph)
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring is not None
        assert docstring.count("Usage: python pipe.py") == 1
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("imagenet-train", "imagenet_train_pipeline"),
        ("", "pipeline"),
        ("3d", "pipeline_3d"),
        ("Zürich 東京", "z_rich_pipeline"),
        ('"); import os', "import_os_pipeline"),
    ],
)
def test_function_names(name: str, function: str) -> None:
    assert function_name(Graph(name=name)) == function


@pytest.mark.parametrize("name", ["build", "Build", "_build_"])
def test_the_function_does_not_hide_the_one_that_builds(
    name: str, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(replace(load_recipe("imagenet-eval"), name=name), batch_size=2)
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    assert len(script.build_pipeline(str(photos)).run()) == 2


@given(st.sampled_from([t for t in HOSTILE if len(t) < 100]) | st.text(max_size=20))
def test_texts_in_arguments_stay_texts(text: str) -> None:
    """``file_root`` accepts any text."""
    plain, graph = (
        set_arg(chain_graph("pad"), CATALOG, "reader", "file_root", each)
        for each in ("photos", text)
    )
    source = emit_script(graph, CATALOG)
    assert calls_in(source.text) == calls_in(emit_script(plain, CATALOG).text)
    strings = {n.value for n in ast.walk(ast.parse(source.text)) if isinstance(n, ast.Constant)}
    assert text in strings


@pytest.mark.parametrize("name", [*NO_NAMES, "class", "import", "a b", "", "None"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    graph = replace(load_recipe("imagenet-eval"), outputs={name: Port("normalize", "output")})
    with pytest.raises(GraphFaultsError, match="not a Python name"):
        emit_script(graph, CATALOG)
    node = Node(name, "flip", inputs={"data": Port("decode", "output")})
    outputs = {**chain_graph().outputs, "more": Port(name, "output")}
    graph = replace(chain_graph(), nodes=(*chain_graph().nodes, node), outputs=outputs)
    with pytest.raises(GraphFaultsError, match="not a Python name"):
        emit_script(graph, CATALOG)


NAMES_IN_USE = [
    "fn", "types", "data", "device", "base_seed", "find_files", "MEAN", "STD", "SIZE", "images",
    "labels", "jpegs", "os", "glob", "pipe", "print", "seed", "type", "match", "_",
]  # fmt: skip


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    def port(old: Port) -> Port:
        return Port(names.get(old.node, old.node), old.output)

    nodes = [
        replace(n, id=names.get(n.id, n.id), inputs={k: port(p) for k, p in n.inputs.items()})
        for n in graph.nodes
    ]
    outputs = {name: port(p) for name, p in graph.outputs.items()}
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


@pytest.mark.parametrize("name", one_in(4, NAMES_IN_USE))
def test_ids_that_the_script_uses_itself_do_no_harm(
    name: str, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=2)
    for node_id in ("crop", "mirror", "reader"):
        for outputs in (graph.outputs, {name: Port("normalize", "output"), **graph.outputs}):
            changed = renamed(replace(graph, outputs=outputs), {node_id: name})
            text = emit_script(changed, CATALOG).text
            pipe = import_script(text, tmp_path).build_pipeline(str(photos))
            assert len(pipe.run()) == len(outputs)


def test_constants_of_several_nodes_keep_apart() -> None:
    graph, last = load_recipe("imagenet-eval"), "normalize"
    means: list[tuple[float, ...]] = [(123.675, 116.28, 103.53)]
    for index, node_id in enumerate(("norm", "NORM", "Norm")):
        graph, new = insert_node(graph, CATALOG, "crop_mirror_normalize", last)
        means.append((float(index),) * 3)
        graph = renamed(set_arg(graph, CATALOG, new, "mean", means[-1]), {new: node_id})
        last = node_id
    tree = ast.parse(emit_script(graph, CATALOG).text)
    constants = {
        ast.unparse(s.targets[0]): eval(ast.unparse(s.value))
        for s in tree.body
        if isinstance(s, ast.Assign)
    }
    used = [
        constants[ast.unparse(keyword.value)]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "mean"
    ]
    assert sorted(used) == sorted(list(mean) for mean in means)


def test_a_lifted_value_never_takes_the_name_of_a_setting(tmp_path: Path) -> None:
    graph = chain_graph("resize", "resize")
    ids = {"resize": "one", "resize_2": "batch"}
    nodes = tuple(
        replace(
            node,
            id=ids.get(node.id, node.id),
            args={"size": (100, 100 + n)} if node.op == "resize" else node.args,
            inputs={k: Port(ids.get(p.node, p.node), p.output) for k, p in node.inputs.items()},
        )
        for n, node in enumerate(graph.nodes)
    )
    outputs = {k: Port(ids.get(p.node, p.node), p.output) for k, p in graph.outputs.items()}
    script = import_script(
        emit_script(replace(graph, nodes=nodes, outputs=outputs), CATALOG).text, tmp_path
    )
    assert graph.settings.batch_size == script.BATCH_SIZE


def test_a_parameter_does_not_hide_the_pipeline_function() -> None:
    graph = replace(load_recipe("rotate-jitter"), name="cats")
    second = replace(graph.sources[0], id="second", seed=99, dataset="cats_pipeline")
    outputs = {**graph.outputs, "classes": Port("second", "labels")}
    text = emit_script(replace(graph, nodes=(*graph.nodes, second), outputs=outputs), CATALOG).text
    assert "def cats_pipeline_(" in text
    assert "pipe = cats_pipeline_(" in text


READ = Port("reader", "labels")


def names_of(graph: Graph) -> dict[str, str]:
    ordered, _ = topological(graph)
    return {str(port): name for port, name in name_outputs(graph, CATALOG, ordered).items()}


def simulate(graph: Graph) -> None:
    """Run the assignments: every node must find its inputs under their names."""
    ordered, _ = topological(graph)
    names = name_outputs(graph, CATALOG, ordered)
    holds: dict[str, Port] = {}
    for node in ordered:
        for port in node.inputs.values():
            assert holds[names[port]] == port, (node.id, port)
        given = outputs_of(node, CATALOG[node.op])
        made = [Port(node.id, output.name) for output in given]
        assert len({names[port] for port in made}) == len(made)
        holds |= {names[port]: port for port in made}
    for port in graph.outputs.values():
        assert holds[names[port]] == port


def with_own_ids(graph: Graph) -> Graph:
    """Every other node under an id that a person might have given it."""
    return renamed(graph, {node.id: f"my_{node.id}" for node in graph.nodes[::2]})


@given(CHAINS)
def test_no_variable_is_overwritten_while_needed(graph: Graph) -> None:
    simulate(graph)
    simulate(with_own_ids(graph))


@pytest.mark.parametrize("graph", load_recipes().values(), ids=lambda graph: graph.name)
def test_recipes(graph: Graph) -> None:
    simulate(graph)
    simulate(with_own_ids(graph))


def test_a_chain_keeps_one_name() -> None:
    assert names_of(load_recipe("imagenet-train")) == {
        "reader.jpegs": "jpegs",
        "reader.labels": "labels",
        "decode.output": "images",
        "crop.output": "images",
        "mirror.output": "mirror",
        "normalize.output": "images",
    }


def test_an_id_that_the_user_chose_is_the_name_of_the_variable() -> None:
    ids = {"resize": "small", "rotate": "tilted_photo", "hue": "tint", "flip": "my_flip"}
    graph = renamed(load_recipe("rotate-jitter"), ids)
    names = names_of(graph)
    assert [names[f"{ids[node]}.output"] for node in ("resize", "rotate", "hue")] == [
        *("small", "tilted_photo", "tint")
    ]
    assert names["decode.output"] == names["color.output"] == "images"
    assert names["my_flip.output"] == "images"  # the output has a name of its own
    simulate(graph)
    lines = emit_script(graph, CATALOG).text.splitlines()
    assert "    small = fn.resize(images, size=SIZE)" in lines
    start = "    tilted_photo = fn.rotate(small,"
    assert len([line for line in lines if line.startswith(start)]) == 1


@pytest.mark.parametrize("name", one_in(6, photo_recipes()))
def test_ids_that_the_user_chose_change_no_pixel(name: str, photos: Path, tmp_path: Path) -> None:
    graph = with_settings(photo_recipes()[name], batch_size=2)
    ids = {node.id: f"my_{node.id}" for node in graph.walk() if not node.bodies}
    own = replace(
        graph,
        nodes=renamed_nodes(graph.nodes, ids),
        outputs=renamed_ports(graph.outputs, ids),
    )
    assert " = " in emit_script(own, CATALOG).text.partition("    my_")[2]
    ours, theirs = (script_batches(each, photos, 1, tmp_path)[0] for each in (own, graph))
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("target", sorted(set(target_names()) - {"torchvision", "albumentations"}))
def test_every_target_keeps_ids_that_the_user_chose(target: str) -> None:
    graph = renamed(load_recipe("rotate-jitter"), {"rotate": "tilted_photo"})
    with_ = "training" if target == "triton" else ""
    (text, *_) = (file.text for file in export(graph, target, CATALOG, with_=with_).files.values())
    assert text.count("tilted_photo = ") == 1


@pytest.mark.parametrize("node_id", ["fn", "data", "seed", "print", "resize_2", "images_small"])
def test_an_id_that_cannot_be_a_variable_is_not_used_nor_one_that_says_nothing(
    node_id: str,
) -> None:
    graph = renamed(load_recipe("rotate-jitter"), {"resize": node_id})
    kept = node_id == "images_small"
    assert names_of(graph)[f"{node_id}.output"] == (node_id if kept else "images")
    simulate(graph)


@pytest.mark.parametrize("wanted", ["images", "both"])
def test_two_views_that_are_joined_do_not_share_a_variable(wanted: str) -> None:
    image, data = Port("decode", "output"), CATALOG["flip"].inputs[0].name
    views = [
        node
        for number in (1, 2)
        for node in (
            Node(f"crop_{number}", "crop", {"crop": (64, 64)}, {data: image}, seed=number),
            Node(f"flip_{number}", "flip", {}, {data: Port(f"crop_{number}", "output")}),
        )
    ]
    first, second = (Port(f"flip_{number}", "output") for number in (1, 2))
    joined = Node("mix", "math.add", {}, {"data": first, "other": second})
    nodes = (*chain_graph().nodes, *views, joined)
    graph = replace(chain_graph(), nodes=nodes, outputs={wanted: Port("mix", "output")})
    names = names_of(graph)
    made = [names[f"{node.id}.output"] for node in views]
    assert {*made[:2]}.isdisjoint(made[2:])
    assert names["decode.output"] not in made
    assert names["mix.output"] == wanted
    simulate(graph)


def test_a_name_passes_on_only_to_what_is_of_its_kind() -> None:
    """The anchor of a crop is made with the boxes and read with the image: it is neither."""
    graph = load_recipe("imagenet-eval")
    box, cut = CATALOG["random_bbox_crop"], CATALOG["decoders.image_slice"]
    boxes, classes = (port.name for port in box.inputs)
    data, anchor, shape = (port.name for port in cut.inputs)
    nodes = (
        graph.node("reader"),
        Node("fixed", "constant", {"fdata": (0.1, 0.1, 0.6, 0.7)}),
        Node("box", box.name, {}, {boxes: Port("fixed", "output"), classes: READ}),
        Node("cut", cut.name, {}, {
            data: Port("reader", "jpegs"),
            anchor: Port("box", "anchor"),
            shape: Port("box", "shape"),
        }),
    )  # fmt: skip
    outputs = {
        "images": Port("cut", "output"),
        "boxes": Port("box", "boxes"),
        "classes": Port("box", "labels"),
    }
    graph = replace(graph, nodes=nodes, outputs=outputs)
    simulate(graph)
    assert names_of(graph) == {
        "reader.jpegs": "jpegs",
        "reader.labels": "classes",
        "fixed.output": "fixed",
        "box.anchor": "box_anchor",
        "box.shape": "box_shape",
        "box.boxes": "boxes",
        "box.labels": "classes",
        "cut.output": "images",
    }


def test_every_stage_as_an_output() -> None:
    graph = chain_graph("resize", "rotate", "flip")
    taps = {f"after_{n.id}": Port(n.id, "output") for n in graph.nodes[1:]}
    graph = with_nodes(graph, **taps)
    simulate(graph)


def test_one_port_under_two_output_names() -> None:
    graph = chain_graph("rotate")
    graph = with_nodes(graph, again=Port("rotate", "output"))
    simulate(graph)


def test_reserved_names_are_never_given(catalog: Catalog) -> None:
    graph = chain_graph("rotate")
    for name in RESERVED:
        tapped = replace(graph, outputs={name: Port("rotate", "output")})
        assert name not in names_of(tapped).values()
        simulate(tapped)


def test_names_that_are_read_as_numbers_give_way_to_what_they_hold() -> None:
    graph = load_recipe("imagenet-eval")
    ends = dict(zip(("l", "O"), reversed(graph.outputs.values()), strict=True))
    assert ends["l"] == Port("reader", "labels")
    names = names_of(replace(graph, outputs=ends))
    assert names["reader.labels"] == "labels"
    assert names[str(ends["O"])] == "images"


def test_what_goes_into_a_not_or_a_mean_keeps_its_own_name() -> None:
    image = Port("decode", "output")
    first = CATALOG["reductions.mean"].inputs[0].name
    nodes = (
        *chain_graph().nodes,
        Node("mask", "math.gt", {"right": 100}, {"data": image}),
        Node("flipped", "math.bitxor", {"right": True}, {"data": Port("mask", "output")}),
        Node("mean", "reductions.mean", {}, {first: image}),
        Node("less", "math.sub", {}, {"data": image, "other": Port("mean", "output")}),
    )
    outputs = {"mask_other": Port("flipped", "output"), "shifted": Port("less", "output")}
    names = names_of(replace(chain_graph(), nodes=nodes, outputs=outputs))
    kept = ("mask.output", "flipped.output", "mean.output", "less.output")
    assert [names[port] for port in kept] == ["mask", "mask_other", "mean", "shifted"]
