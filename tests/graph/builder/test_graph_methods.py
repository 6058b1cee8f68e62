"""Graphs made in code: operators, blocks, values, outputs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.catalog import Catalog
from workbench.errors import GraphEditError, GraphFaultsError, WorkbenchError
from workbench.graph.builder.graph_code import code_of
from workbench.graph.builder.graph_drawing import graph_svg, graph_text
from workbench.graph.builder.graph_methods import METHODS
from workbench.graph.checks.check import check_graph
from workbench.graph.control_flow.options import set_probability, set_weights
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.compose import append_node
from workbench.graph.edits.edit import randomise_arg, set_arg, start_graph
from workbench.graph.model import Graph, Node


@pytest.fixture
def graph() -> Graph:
    return wb.read(".").decode().resize(size=(64, 64))


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.walk()]


def test_a_chain_goes_on_along_the_image(graph: Graph, catalog: Catalog) -> None:
    made = graph.rotate(angle=wb.random.uniform(range=(-10, 10))).noise.gaussian(stddev=20)
    assert ops(made) == [
        *("readers.file", "decoders.image", "resize", "random.uniform", "rotate"),
        "noise.gaussian",
    ]
    assert str(made.outputs["images"]) == "gaussian.output"
    assert str(made.outputs["labels"]) == "reader.labels"
    assert check_graph(made, catalog) == ()
    assert ops(graph) == ["readers.file", "decoders.image", "resize"]  # it never changes


def test_arithmetic_is_that_of_dali(graph: Graph, catalog: Catalog) -> None:
    images = graph.images
    mixed = wb.outputs(images=images * 0.7 + images.flip() * 0.3, part=(1 - images)[:, 3:9, 0])
    source = wb.emit_script(mixed, catalog).text
    assert "* 0.7" in source
    assert "[:, 3:9, 0]" in source
    assert "1 - images" in source


def test_a_draw_that_is_used_twice_is_drawn_once(graph: Graph) -> None:
    coin = wb.random.coin_flip(probability=0.5)
    a, b = graph.images.flip(horizontal=coin), graph.images.rotate(angle=3).flip(horizontal=coin)
    made = wb.outputs(a=a, b=b)
    assert ops(made).count("random.coin_flip") == 1
    assert made.node("horizontal").op == "random.coin_flip"  # called after what it feeds


def test_two_spellings_of_a_path_are_the_same_data(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos.parent)
    there, here = wb.read(photos).decode(), wb.read(f"{photos.name}/").decode()
    assert list(wb.outputs(a=there.images, b=here.images).outputs) == ["a", "b"]


def test_data_types_of_numpy_and_pytorch_are_those_of_dali(graph: Graph) -> None:
    torch = pytest.importorskip("torch")
    for dtype, name in ((np.uint8, "UINT8"), (np.dtype("float32"), "FLOAT"), (torch.bool, "BOOL")):
        assert graph.cast(dtype=dtype)["cast"].dtype == name


def test_the_class_lists_its_operators_and_methods() -> None:
    assert {"rotate", "noise", "with_p", "show", "batch"} <= set(dir(wb.Graph))


def test_the_same_objects_are_the_same_data() -> None:
    one, other = (np.full((9, 9, 3), value, np.uint8) for value in (0, 1))
    first, again = wb.read([one, other]).decode(), wb.read([one, other]).decode()
    assert list(wb.outputs(a=first.images, b=again.images).outputs) == ["a", "b"]
    masks = wb.read({"masks": [other, one]}).decode(output_type="GRAY").images
    turned = first.images.rotate(angle=3)
    made = wb.outputs(images=turned, masks=wb.fn.follow_masks(masks=masks, image=turned))
    assert len(made.sources) == 2
    assert made.datasets is not None
    assert {*made.datasets} == {"data", "masks"}
    with pytest.raises(wb.GraphEditError, match="a list of 2 images"):
        wb.outputs(a=first.images, b=wb.read([one, one]).decode().images)


def test_two_calls_that_look_alike_draw_for_themselves(graph: Graph) -> None:
    views = [graph.images.random_resized_crop(size=(32, 32)) for _ in range(2)]
    made = wb.outputs(view_1=views[0], view_2=views[1])
    seeds = [node.seed for node in made.walk() if node.op == "random_resized_crop"]
    assert len(set(seeds)) == len(seeds) == 2
    assert ops(made).count("resize") == 1


def test_values_from_around_are_led_into_a_block(graph: Graph, catalog: Catalog) -> None:
    coin = wb.random.coin_flip(probability=0.5)
    made = graph.with_p(coin, lambda x: x.flip())
    made = made.if_else(
        made.labels[0] == 3,
        lambda x: x.cast(dtype="FLOAT").images * 0.5 + graph.images * 0.5,
        lambda x: x.rotate(angle=coin * 10.0).cast(dtype="FLOAT"),
    )
    assert check_graph(made, catalog) == ()
    assert ops(made).count("random.coin_flip") == 1


def test_a_draws_own_seed_and_name_stay(graph: Graph) -> None:
    drawn = wb.random.uniform(range=(-10, 10), seed=7, name="tilt")
    made = graph.rotate(angle=drawn).rotate(angle=wb.random.uniform(range=(-3, 3), seed=7))
    assert made.node("tilt").seed == 7
    assert made.node("angle").seed == 8, "no two nodes have one seed"


def test_a_draw_in_the_place_of_another_has_its_name(graph: Graph) -> None:
    made = graph.rotate(angle=wb.random.uniform(range=(-10, 10)))
    again = made["rotate"].set(angle=wb.random.uniform(range=(-30, 30)))
    assert again.node("angle").args == {"range": (-30, 30)}
    assert not again.has("angle_2")
    kept = wb.outputs(images=again.images, tilt=again["angle"].outputs["output"])
    assert kept["rotate"].set(angle=wb.random.uniform(range=(0, 5))).has("angle_2")


def test_blocks_nest_and_draw_apart(graph: Graph, catalog: Catalog) -> None:
    def turned(x: Graph) -> Graph:
        return x.rotate(angle=wb.random.uniform(range=(-3, 3)))

    made = (
        graph.with_p(0.8, lambda x: x.with_p(0.5, turned))
        .one_of(turned, lambda x: x, lambda x: x.gaussian_blur(sigma=1), weights=(2, 1, 1))
        .some_of(2, turned, lambda x: x.flip(), turned, shuffled=True)
        .repeat(3, turned)
        .repeat(wb.random.uniform(range=(0, 3), dtype="INT32"), turned, most=3)
    )
    assert check_graph(made, catalog) == ()
    seeds = [node.seed for node in made.walk() if node.seed is not None]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda g: g.rotate(angl=3), "rotate has no argument 'angl'. Did you mean angle?"),
        (lambda g: g.rotate(angle="x"), "rotate.angle: 'x' is not a number"),
        (lambda g: g.rotate(angle=[1, 2, 3]), "is a list"),
        (lambda g: g.rotate(angle=object()), "is not a valid argument value"),
        (lambda g: g.rotate(3), "input 1 is 3 (int)"),
        (lambda g: g.rotate(), "it has no value and no default"),
        (lambda g: g["rotat"], "There is no node 'rotat'"),
        (lambda g: g["resize"].set(siz=3), "Did you mean size?"),
        (lambda g: setattr(g["resize"], "size", 3), "graph['resize'].set(size=3)"),
        (lambda g: g["resize"].set(size="x"), "resize.size: 'x' is not a"),
        (lambda g: g["resize"].outputs and g["reader"].output, "reader outputs jpegs, labels"),
        (lambda g: g.with_p(2, lambda x: x), "p is 2. Use a number from 0 to 1"),
        (lambda g: g.with_p("a", lambda x: x), "p is 'a'"),
        (lambda g: g.one_of(lambda x: x), "needs two or more"),
        (lambda g: g.one_of(lambda x: x, lambda x: x, weights=(1,)), "one_of has 2 options"),
        (lambda g: g.one_of(lambda x: x, lambda x: x, weights=(0, 0)), "not all 0"),
        (lambda g: g.one_of(lambda x: x, lambda x: x, weights="a, b"), "weights is 'a, b' (str)"),
        (lambda g: g.one_of(lambda x: 3, lambda x: x), "An option returned 3 (int)"),
        (lambda g: g.with_p(0.5, lambda x: g), "An option returned another graph. Return"),
        (
            lambda g: g.with_p(0.5, g),
            ("received a graph instead of a function. Use a function of the"),
        ),
        (lambda g: g.some_of(0), "some_of has no options"),
        (lambda g: g.some_of(0, lambda x: x), "some_of is 0 for 1 option. Use"),
        (lambda g: g.some_of(3, lambda x: x), "3 for 1 option. Use"),
        (lambda g: g.some_of(g, lambda x: x), "(Graph). Use an integer"),
        (lambda g: g.repeat("a", lambda x: x), "times: 'a' is not an integer"),
        (lambda g: g.if_else(3, lambda x: x), "The condition is 3"),
        (lambda g: g.if_else(g.labels[0] == 1, lambda x: x.cast(dtype="FLOAT")), "a cast to"),
        (
            lambda g: g.peek_image_shape(),
            "it requires encoded data, but resize.output outputs images",
        ),
        (lambda g: g.shape(), "shape outputs numbers, not an image"),
        (lambda g: g.images + "a", "cannot be combined"),
        (lambda g: g.images["a"], "an index consists of integers"),
        (lambda g: g.with_settings(batch=3), "Did you mean batch_size?"),
        (lambda g: wb.outputs(), "outputs received no values"),
        (lambda g: wb.outputs(images=3), "'images' has type 'int'"),
        (lambda g: wb.outputs(resize=g.images), "'resize' is already the name of a node"),
        (lambda g: wb.outputs(a=g.images, b=g.images.flip()).rotate(angle=1), "several images"),
        (lambda g: wb.outputs(labels=g.labels).rotate(angle=1), "outputs no image"),
        (lambda g: wb.fn.cat(1, 2), "cat: input 0 is 1"),
        (lambda g: wb.fn.rotate(angle=3), "it is not connected"),
        (lambda g: g.rotate(angle=3, name="images"), "already has an output 'images'"),
        (lambda g: g.rotate(angle=(-5, 5)), "or wb.random.uniform(range=(-5, 5))"),
        (lambda g: wb.read([]), "The list is empty"),
        (lambda g: wb.read(".", shuffle=True), "has no argument 'shuffle'"),
    ],
)
def test_mistakes_raise_where_they_are_made(graph: Graph, make: object, words: str) -> None:
    with pytest.raises(WorkbenchError) as raised:
        make(graph)  # type: ignore[operator]
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_tuple_that_other_libraries_read_as_a_range_is_reported(graph: Graph) -> None:
    with pytest.warns(UserWarning, match=r"Use wb\.random\.uniform\(range=\(0\.1, 2\)\)"):
        graph.gaussian_blur(sigma=(0.1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.gaussian_blur(sigma=[0.1, 2])["gaussian_blur"].sigma == (0.1, 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda g: g.brightness(p=0.5), "brightness does not change the images. Set brightness or"),
        (lambda g: g.crop(), "Set crop or crop_h or crop_w."),
        (lambda g: g.flip(horizontal=0, p=0.5), "Set horizontal or vertical or depthwise of flip."),
        (lambda g: g.with_p(0.5, lambda x: x), "branch does not change the images. Apply an op"),
        (lambda g: g.one_of(lambda x: x, lambda x: x), "one_of does not change the images."),
        (lambda g: g.flip(p=0.5), ""),
        (lambda g: g.hue(hue=wb.random.uniform(range=(0, 9)), p=0.5), ""),
        (lambda g: g.one_of(lambda x: x, lambda x: x.flip()), ""),
    ],
)
def test_a_call_that_changes_nothing_is_a_warning(
    graph: Graph, make: Callable[[Graph], Graph], words: str
) -> None:
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        made = make(graph)
        code_of(made, made.datasets or {}, {"data": "'.'"})  # reading it back: no second warning
    assert len(issued) == bool(words)
    assert words in "".join(str(each.message) for each in issued)


def test_an_operator_of_another_device_is_refused(graph: Graph) -> None:
    mixed = graph.with_settings(device="mixed")
    with pytest.raises(GraphFaultsError, match="GPU"):
        mixed.rotate(angle=mixed.images.reductions.mean())


def test_names_that_are_not_there_tell_the_nearest(graph: Graph) -> None:
    with pytest.raises(AttributeError, match="Did you mean rotate"):
        graph.rotat  # noqa: B018
    with pytest.raises(AttributeError, match=r"Did you mean gaussian\?"):
        graph.noise.gausian  # noqa: B018
    with pytest.raises(AttributeError, match="It has gaussian, salt_and_pepper, shot"):
        graph.noise.rain  # noqa: B018
    with pytest.raises(AttributeError, match=r"'angl'\. Did you mean angle"):
        graph.rotate(angle=3)["rotate"].angl  # noqa: B018
    assert not hasattr(graph, "_repr_nothing_")


def test_what_is_made_inside_a_block_stays_there(graph: Graph) -> None:
    inner: list[object] = []

    def keep(x: Graph) -> Graph:
        turned = x.rotate(angle=3)
        inner.append(turned.images)
        return turned

    made = graph.with_p(0.5, keep)
    with pytest.raises(GraphEditError, match="is inside another body"):
        made.images + inner[0]


def test_values_are_no_truths_and_no_lists(graph: Graph) -> None:
    with pytest.raises(TypeError, match="Use if_else"):
        bool(graph.labels == 3)
    with pytest.raises(TypeError, match="Use an index"):
        list(graph.images)


def test_methods_and_operators_tell_what_they_take(graph: Graph) -> None:
    assert "degrees" in (graph.rotate.__doc__ or "")
    assert "angle" in str(graph.rotate.__signature__)
    assert {*METHODS, "images", "labels", "rotate", "noise"} <= {*dir(graph)}
    assert {"uniform", "normal", "coin_flip"} <= {*dir(wb.random)}
    for method in METHODS.values():
        assert method.__doc__
    inside = graph.with_p(0.5, lambda x: x.flip())
    assert {"reader", "resize", "flip"} <= {*inside._ipython_key_completions_()}


def test_nodes_are_read_and_changed_by_id(graph: Graph) -> None:
    made = graph.rotate(angle=wb.random.uniform(range=(-10, 10)))
    assert made["resize"].size == (64, 64)
    assert made["rotate"].angle.range == (-10, 10)
    assert made["rotate"].set(angle=5)["rotate"].angle == 5
    assert not made["rotate"].set(angle=5).has("angle")  # its draw goes with it
    fed = made["rotate"].set(angle=wb.random.normal(stddev=2.0))
    assert fed["rotate"].angle.node.op == "random.normal"
    assert ops(made["rotate"].remove()) == ["readers.file", "decoders.image", "resize"]
    assert made["rotate"].mute().node("rotate").muted
    assert made["rotate"].rename("turn").has("turn")
    assert made["resize"].reset("size")["resize"].size != (64, 64)


ANGLES = st.tuples(st.integers(-90, 0), st.integers(1, 90))
STEPS = st.sampled_from(["turn", "drawn", "flip", "blur", "p", "one_of"])


@given(st.lists(st.tuples(STEPS, ANGLES), min_size=1, max_size=5))
def test_code_and_mouse_make_the_same_graph(steps: list[tuple[str, tuple[int, int]]]) -> None:
    catalog = wb.load_catalog()
    code, mouse = wb.read(".").decode(), start_graph(catalog)
    for step, ends in steps:
        match step:
            case "turn":
                code = code.rotate(angle=ends[0], fill_value=0, keep_size=True)
                mouse, added = append_node(mouse, catalog, "rotate")
                mouse = set_arg(mouse, catalog, added, "angle", ends[0])
                mouse = set_arg(mouse, catalog, added, "fill_value", 0)
            case "drawn":
                drawn = wb.random.uniform(range=ends)
                code = code.rotate(angle=drawn, fill_value=0, keep_size=True)
                mouse, added = append_node(mouse, catalog, "rotate")
                mouse = set_arg(mouse, catalog, added, "fill_value", 0)
                mouse = randomise_arg(mouse, catalog, added, "angle", args={"range": ends})
            case "flip":
                code = code.flip(horizontal=1)
                mouse, added = append_node(mouse, catalog, "flip")
                mouse = set_arg(mouse, catalog, added, "horizontal", 1)
            case "blur":
                code = code.gaussian_blur(sigma=2.0)
                mouse, added = append_node(mouse, catalog, "gaussian_blur")
                mouse = set_arg(mouse, catalog, added, "sigma", 2.0)
            case "p":
                code = code.with_p(0.25, lambda x: x.gaussian_blur(sigma=1.0))
                mouse, added = append_node(mouse, catalog, "gaussian_blur")
                mouse = set_arg(mouse, catalog, added, "sigma", 1.0)
                mouse, block = wrap_in_block(mouse, catalog, [added])
                mouse = set_probability(mouse, block, 0.25)
            case "one_of":
                code = code.one_of(
                    lambda x: x.gaussian_blur(sigma=1.0),
                    lambda x: x.gaussian_blur(sigma=3.0),
                    weights=(2, 1),
                )
                mouse, first = append_node(mouse, catalog, "gaussian_blur")
                mouse = set_arg(mouse, catalog, first, "sigma", 1.0)
                mouse, second = append_node(mouse, catalog, "gaussian_blur")
                mouse = set_arg(mouse, catalog, second, "sigma", 3.0)
                mouse, block = wrap_as_options(mouse, catalog, [first, second])
                mouse = set_weights(mouse, block, (2, 1))
    assert script_of(code) == script_of(mouse)


def script_of(graph: Graph) -> str:
    return wb.emit_script(graph, wb.load_catalog()).text


def test_its_own_script_brings_the_same_graph_back(graph: Graph, tmp_path: Path) -> None:
    made = (
        graph.rotate(angle=wb.random.uniform(range=(-10, 10)))
        .with_p(0.8, lambda x: x.color_twist(saturation=wb.random.uniform(range=(0.5, 1.5))))
        .one_of(lambda x: x.gaussian_blur(sigma=[2]), lambda x: x.flip(horizontal=1))
        .named("made_in_code")
    )
    path = tmp_path / "pipe.py"
    path.write_text(script_of(made))
    found = wb.from_file(path, args={"data": str(tmp_path)}).graph
    assert script_of(found) == script_of(made)


CALLS: dict[str, Callable[[Graph, tuple[int, int]], Graph]] = {
    "turn": lambda g, ends: g.rotate(angle=ends[0], fill_value=0, keep_size=True),
    "drawn": lambda g, ends: g.rotate(angle=wb.random.uniform(range=ends), keep_size=True),
    "flip": lambda g, ends: g.flip(horizontal=1),
    "blur": lambda g, ends: g.gaussian_blur(sigma=[2]),
    "p": lambda g, ends: g.with_p(0.25, lambda x: x.gaussian_blur(sigma=[1])),
    "one_of": lambda g, ends: g.one_of(lambda x: x.flip(), lambda x: x.rotate(angle=ends[1])),
}


@pytest.mark.thorough
@settings(max_examples=5)
@given(st.lists(st.tuples(STEPS, ANGLES), min_size=1, max_size=5))
def test_any_script_of_its_own_brings_the_same_graph_back(
    steps: list[tuple[str, tuple[int, int]]],
) -> None:
    made = wb.read(".").decode().named("made_in_code")
    for step, ends in steps:
        made = CALLS[step](made, ends)
    with TemporaryDirectory() as folder:
        path = Path(folder, "pipe.py")
        path.write_text(script_of(made))
        found = wb.from_file(path, args={"data": folder}).graph
    assert script_of(found) == script_of(made)


def test_a_draw_and_what_is_inside_combine_in_any_order(graph: Graph) -> None:
    def darker(x: Graph) -> wb.DataNode:
        drawn = wb.random.uniform(range=(0.5, 1)) * x.images
        return drawn.cast(dtype="UINT8")

    made = graph.with_p(0.5, darker)
    assert [node.op for node in made.node("branch").bodies["then"].nodes].count("math.mul") == 1


MOST = 100_000
"""Bytes of what a graph shows of itself."""


@pytest.mark.parametrize("name", wb.load_recipes())
def test_every_recipe_shows_itself(name: str) -> None:
    graph = wb.load_recipe(name)
    shown = graph._repr_mimebundle_()
    assert {*shown} == {"image/svg+xml", "text/plain"}
    drawn = ElementTree.fromstring(shown["image/svg+xml"])
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    nodes = [node for node in graph.walk() if not node.bodies and len(node.id) <= 30]
    assert {node.id for node in nodes if not node.op.startswith("random.")} <= texts
    assert all(node.id in shown["text/plain"] for node in graph.walk())
    sizes = [float(drawn.attrib[side]) for side in ("width", "height")]
    assert sizes[0] <= 860, "it fits into a notebook cell"
    assert sum(map(len, shown.values())) < MOST


def test_boxes_do_not_lie_on_each_other() -> None:
    graph = wb.load_recipe("simclr")
    rects = []
    for element in ElementTree.fromstring(graph_svg(graph)).iter(
        "{http://www.w3.org/2000/svg}rect"
    ):
        x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        rects.append((x, y, x + width, y + height))

    def holds(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and b[2] <= a[2] and b[3] <= a[3]

    for a, b in combinations(rects, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart or holds(a, b) or holds(b, a), (a, b)


@pytest.mark.parametrize("name", ["ssd", "key-points"])
def test_no_edge_of_the_picture_crosses_a_node_or_the_name_of_an_output(name: str) -> None:
    drawn = ElementTree.fromstring(graph_svg(wb.load_recipe(name)))
    cards = [
        [float(each.attrib[key]) for key in ("x", "y", "width", "height")]
        for each in drawn.iter("{http://www.w3.org/2000/svg}rect")
    ]
    for each in drawn.iter("{http://www.w3.org/2000/svg}text"):
        if each.text and each.text.startswith("→"):
            x, y = float(each.attrib["x"]), float(each.attrib["y"])
            cards.append([x, y - 8, 6.0 * len(each.text), 8])
    for path in drawn.iter("{http://www.w3.org/2000/svg}path"):
        x, y, to_x, to_y = _ends(path.attrib["d"])
        lines = re.findall(r"([VH])(-?[\d.]+)", path.attrib["d"])
        for axis, value in lines or [("", "")]:
            x2, y2 = (
                (x, float(value)) if axis == "V" else (float(value), y) if axis else (to_x, to_y)
            )
            for share in (0.2, 0.5, 0.8):
                at_x, at_y = x + (x2 - x) * share, y + (y2 - y) * share
                hit = [c for c in cards if c[0] < at_x < c[0] + c[2] and c[1] < at_y < c[1] + c[3]]
                assert not hit, (path.attrib["d"], hit)
            x, y = x2, y2


def _ends(path: str) -> tuple[float, float, float, float]:
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", path)]
    return numbers[0], numbers[1], numbers[-2], numbers[-1]


def test_names_cannot_break_out_of_the_picture() -> None:
    graph = Graph(name="<script>alert(1)</script>", nodes=(Node("a", "<b>", {"c": "<d>&"}),))
    drawn = graph_svg(graph)
    assert "<script>" not in drawn
    ElementTree.fromstring(drawn)


def test_a_huge_graph_is_a_line() -> None:
    nodes = tuple(Node(f"node_{index}", "rotate") for index in range(5000))
    assert len(graph_svg(Graph(nodes=nodes))) < MOST


def test_the_text_tells_what_stands_inside_what() -> None:
    graph = wb.read(".").decode().with_p(0.5, lambda x: x.rotate(angle=3))
    text = graph_text(graph)
    assert repr(graph) == text
    lines = text.splitlines()
    assert lines[0] == "untitled: 5 nodes"
    assert repr(wb.read(".")).startswith("untitled: 1 node\n")
    script = wb.emit_script(graph)
    assert str(script) == script.text
    indent = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines}
    assert indent["branch"] < indent["then:"] < indent["rotate"]
