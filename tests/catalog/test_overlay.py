""""""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from workbench.catalog import ArgSpec, Catalog, OpSpec, PortSpec
from workbench.catalog.extra_operators.python_decoder import PILLOW_DECODER
from workbench.catalog.extra_operators.readers import FIELD_READER, REQUESTS, TARGET_READERS
from workbench.catalog.overlay import Overlay, apply_overlay, read_overlay
from workbench.catalog.schema import read_schemas
from workbench.catalog.spec import NOTHING_KNOWN, Feed, OutputRule, kind_fits
from workbench.catalog.templates import PLACE, SECOND, load_templates
from workbench.errors import CatalogError
from workbench.sources import kind_of_reader, load_source

ROTATE = OpSpec(
    name="rotate",
    schema="Rotate",
    devices=("cpu", "gpu"),
    inputs=(PortSpec("data"),),
    max_inputs=1,
    outputs=(PortSpec("output"),),
    args={"angle": ArgSpec("angle", "float", tensor=True)},
)


def merged(toml: str) -> OpSpec:
    return apply_overlay([ROTATE], read_overlay({"geometry.toml": toml}))["rotate"]


def described(catalog: Catalog) -> Iterator[tuple[OpSpec, ArgSpec]]:
    for op in catalog.values():
        for arg in op.args.values():
            yield op, arg


def test_a_row_is_merged_into_the_schema() -> None:
    op = merged(
        """
        shared.args.angle = { unit = "°", low = -90 }
        rotate.category = "geometry"
        rotate.image = true
        rotate.args.angle = { low = -180, start = 15, draw = [-10, 10], advanced = false }
        """
    )
    angle = op.args["angle"]
    assert (angle.low, angle.unit, angle.label) == (-180, "°", "Angle")
    assert (angle.start, angle.draw, angle.advanced) == (15, (-10, 10), False)
    assert (op.category, op.label, op.image, op.unusable) == ("geometry", "Rotate", True, None)
    assert (op.inputs[0].kind, op.outputs[0].kind) == ("image", "image")


def test_an_operator_without_a_row_is_unusable() -> None:
    assert merged("").unusable == "not described in the overlay yet"


def test_a_row_can_overrule_whether_an_operator_is_usable() -> None:
    row = 'rotate.category = "geometry"\nrotate.image = true\nrotate.unusable = "out of order"'
    assert merged(row).unusable == "out of order"
    assert merged('rotate.category = "audio"\nrotate.unusable = ""').unusable is None


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[rotat]", r"geometry.toml: \[rotat\]: operator 'rotat'.*Did you mean rotate"),
        ("[rotate]\nlabl = 'R'", r"geometry.toml: \[rotate\]: key 'labl'.*Did you mean label"),
        ("[rotate]\nargs.angel = {}", r"\[rotate\]: argument 'angel'.*Did you mean angle"),
        ("[rotate]\nargs.angle = {lo = 1}", r"\[rotate\]: args.angle: key 'lo'.*Did you mean low"),
        ("[rotate]\nargs.angle = {form = 'color'}", r"angle: form 'color'.*Did you mean colour"),
        ("[rotate]\ncategory = 'color'", r"category 'color'.*Did you mean colour"),
        ("[rotate]\ninputs = ['picture']", r"inputs: kind 'picture'.*Known: encoded, image"),
        ("[rotate]\ninputs = ['image', 'mask']", r"'inputs' lists 2 kinds, but the operator"),
        ("[rotate]\noutputs = {a='image', b='mask'}", r"'outputs' lists 2 ports, but the operator"),
        (
            "[rotate]\nmutually_exclusive = [['angel']]",
            r"exclusive: argument 'angel'.*Did you mean angle",
        ),
        ("[rotate", r"geometry.toml is not valid TOML"),
    ],
)
def test_a_row_that_fits_nothing_is_an_error(toml: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        merged(toml)


def test_a_file_may_add_a_category() -> None:
    row = "[shared]\ncategories = ['lens']\n[rotate]\ncategory = 'lens'"
    assert merged(row).category == "lens"


def test_an_operator_has_one_row() -> None:
    with pytest.raises(CatalogError, match=r"b.toml: a.toml already defines \[rotate\]"):
        read_overlay({"a.toml": "[rotate]", "b.toml": "[rotate]"})


def test_every_operator_of_dali_has_a_row(catalog: Catalog) -> None:
    rows = read_overlay().ops
    visible = {name for name, op in catalog.items() if not op.expression and not op.module}
    visible -= {PILLOW_DECODER.name, FIELD_READER, *REQUESTS, *TARGET_READERS}
    visible.add("python_function")  # made by workbench.node, and not listed
    assert set(rows) == visible, "rows of what DALI lacks, or operators without a row"
    assert "other" not in {op.category for op in catalog.values()}


def test_three_of_four_operators_are_usable(catalog: Catalog) -> None:
    usable = [op.name for op in catalog.values() if op.unusable is None]
    assert len(usable) >= 100, len(usable)
    chained = [name for name in usable if catalog[name].image]
    assert len(chained) >= 45, len(chained)


def test_every_shared_row_is_shared(catalog: Catalog) -> None:
    overlay: Overlay = read_overlay()
    for name in overlay.shared:
        assert sum(name in op.args for op in catalog.values()) > 1, name
    for group in overlay.mutually_exclusive:
        assert any(group in op.mutually_exclusive for op in catalog.values()), group


def test_exclusive_groups_are_found_from_both_sides(catalog: Catalog) -> None:
    resize = catalog["resize"]
    assert resize.conflicts_with("size") == {
        *("resize_shorter", "resize_longer", "resize_x", "resize_y", "resize_z"),
    }
    assert "size" in resize.conflicts_with("resize_x")
    assert "resize_y" not in resize.conflicts_with("resize_x")
    assert catalog["random.uniform"].conflicts_with("values") == {"range"}
    assert catalog["rotate"].mutually_exclusive == ()


def test_start_values_do_not_exclude_each_other(catalog: Catalog) -> None:
    for op in catalog.values():
        given = {arg.name for arg in op.args.values() if arg.start is not None}
        for name in given:
            assert not given & op.conflicts_with(name), f"{op.name}.{name}"


def test_every_required_argument_of_a_usable_operator_can_be_given(
    catalog: Catalog,
) -> None:
    for op, arg in described(catalog):
        if arg.required and op.unusable is None:
            kind = kind_of_reader(op.name)
            found = load_source(kind).located_by if kind else ()
            given = arg.start is not None or arg.feed is not None or arg.name in found
            assert given, f"{op.name}.{arg.name}"


def numbers(value: object) -> list[float]:
    items = value if isinstance(value, tuple) else (value,)
    return [item for item in items if isinstance(item, int | float) and not isinstance(item, bool)]


def test_ranges_are_in_order_and_hold_what_starts_in_them(catalog: Catalog) -> None:
    for op, arg in described(catalog):
        where = f"{op.name}.{arg.name}"
        assert (arg.low is None) == (arg.high is None), where
        for number in (*numbers(arg.start), *numbers(arg.draw)):
            assert arg.low is None or number >= arg.low, where
            assert arg.high is None or number <= arg.high, where
            assert arg.minimum is None or number >= arg.minimum, where
            assert arg.maximum is None or number <= arg.maximum, where
        if arg.low is not None and arg.high is not None:
            assert arg.low < arg.high, where
            assert arg.step is not None, where
            assert 0 < arg.step <= arg.high - arg.low, where
        if arg.draw:
            assert arg.draw[0] < arg.draw[1], where
            assert arg.tensor, f"{where} cannot be random"


def test_values_are_of_the_arguments_kind(catalog: Catalog) -> None:
    scalars = {"bool": bool, "int": int, "float": int | float, "str": str, "enum": str}
    for op, arg in described(catalog):
        kind = arg.kind.removesuffix("_list")
        if kind == "policy":  # see tests/graph/test_policy.py
            continue
        starts = arg.start if isinstance(arg.start, tuple) else (arg.start,)
        assert not isinstance(arg.start, tuple) or arg.kind.endswith("_list"), arg
        for value in (*(value for value in starts if value is not None), *arg.choices):
            where = f"{op.name}.{arg.name}: {value!r}"
            assert isinstance(value, scalars[kind]), where
            assert kind == "bool" or not isinstance(value, bool), where


def test_choices_are_members_and_hold_start_and_default(catalog: Catalog) -> None:
    for op, arg in described(catalog):
        if not arg.choices:
            continue
        where = f"{op.name}.{arg.name}"
        assert len(set(arg.choices)) == len(arg.choices), where
        if arg.enum:
            assert set(arg.choices) <= set(arg.members), where
        for value in (arg.start, arg.default):
            if value is not None and not isinstance(value, tuple):
                assert value in arg.choices, f"{where}: {value!r}"


def test_the_arguments_stand_in_the_order_of_their_rows(catalog: Catalog) -> None:
    names = list(catalog["rotate"].args)
    assert names[:4] == ["angle", "fill_value", "keep_size", "interp_type"]
    assert names[-1] == "preserve"


def test_forms_are_of_lists_and_name_their_elements(catalog: Catalog) -> None:
    for op in catalog.values():
        for arg in op.args.values():
            where = f"{op.name}.{arg.name}"
            if arg.form in ("fields", "each", "matrix"):
                assert arg.kind in ("int_list", "float_list"), where
                assert arg.parts, where
            if arg.form == "flag":
                assert (arg.kind, arg.low, arg.high) == ("int", 0, 1), where
            if arg.form == "range":
                assert arg.low is not None, where
                assert arg.high is not None, where
            if arg.form == "fields" and isinstance(arg.start, tuple):
                assert len(arg.start) == len(arg.parts), where


def test_constants_are_python_names_in_capitals(catalog: Catalog) -> None:
    for op, arg in described(catalog):
        if arg.constant is not None:
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", arg.constant), f"{op.name}.{arg.name}"


def test_deprecated_arguments_stay_folded_and_empty(catalog: Catalog) -> None:
    for op, arg in described(catalog):
        if arg.deprecated:
            assert arg.advanced, f"{op.name}.{arg.name}"
            assert arg.start is None, f"{op.name}.{arg.name}"


def test_the_inspector_opens_with_a_handful_of_arguments(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is None:
            open_args = [arg for arg in op.args.values() if not arg.advanced]
            own = [arg for arg in op.args if arg not in ("bytes_per_sample_hint", "preserve")]
            assert len(open_args) <= 8, op.name
            assert open_args or not own, f"{op.name} opens with no argument"


def test_the_overlay_has_no_row_for_what_dali_lacks() -> None:
    ops, _ = read_schemas()
    strict = apply_overlay(ops, read_overlay(), strict=True)
    assert len([op for op in strict.values() if op.category != "other"]) >= 60


def test_rows_for_what_an_older_dali_lacks_are_passed_over() -> None:
    toml = """
        [rotate]
        category = "geometry"
        image = true
        mutually_exclusive = [["angle", "newer"]]
        args.newer = { start = 1 }
        [unheard_of]
        category = "geometry"
        """
    overlay = read_overlay({"geometry.toml": toml})
    rotate = apply_overlay([ROTATE], overlay, strict=False)["rotate"]
    assert (rotate.category, rotate.mutually_exclusive, set(rotate.args)) == (
        "geometry",
        (),
        {"angle"},
    )
    with pytest.raises(CatalogError, match="unheard_of"):
        apply_overlay([ROTATE], overlay)


PASTE = OpSpec(
    name="paste",
    schema="Paste",
    devices=("cpu",),
    inputs=(PortSpec("data"), PortSpec("where", optional=True)),
    max_inputs=2,
    outputs=(PortSpec("output"), PortSpec("shape")),
    args={"x": ArgSpec("x", "float", tensor=True), "y": ArgSpec("y", "float", tensor=True)},
)


def pasted(toml: str) -> OpSpec:
    ops = [PASTE, replace(ROTATE, outputs=(PortSpec("output"),))]
    return apply_overlay(ops, read_overlay({"crop.toml": toml}))["paste"]


def test_what_comes_out_is_told_for_all_outputs_or_for_each() -> None:
    both = pasted('[paste]\ngives = { dtype = "INT32", layout = "", shape = ["?", 4] }')
    assert [port.gives for port in both.outputs] == [OutputRule("INT32", "", (None, 4))] * 2
    each = pasted('[paste]\ngives = { shape = { dtype = "?", shape = "crop pad" } }')
    assert each.outputs[0].gives == OutputRule()
    assert each.outputs[1].gives == OutputRule(None, "input", ("crop", "pad"))


def test_outputs_that_an_optional_input_adds() -> None:
    op = pasted(
        """
        [paste]
        outputs = { output = "same", shape = "number" }
        adds.where = { place = "points" }
        gives = { place = { dtype = "where", layout = "", shape = ["?"] } }
        """
    )
    assert [port.name for port in op.outputs_with((), {})] == ["output", "shape"]
    *_, place = op.outputs_with(("data", "where"), {})
    assert (place.name, place.kind, place.needs) == ("place", "points", "where")
    assert place.gives == OutputRule("where", "", (None,))
    with pytest.raises(CatalogError, match=r"adds: input 'data'|adds: input"):
        pasted('[paste]\nadds.data = { place = "points" }')


def test_nothing_is_told_of_a_source_without_a_rule() -> None:
    source = replace(PASTE, inputs=(), max_inputs=0)
    (op,) = apply_overlay([source], read_overlay({"a.toml": "[paste]"})).values()
    assert {port.gives for port in op.outputs} == {NOTHING_KNOWN}


def test_ports_are_fed_offered_and_bounded_as_the_row_says() -> None:
    op = pasted(
        """
        [paste]
        inputs = ["any", "number"]
        outputs = { output = "same", shape = "number" }
        takes = ["UINT8"]
        layouts = { data = ["HWC"] }
        together = [["x", "y"]]
        mutually_exclusive = [["where", "x"]]
        whole_batch = true
        feeds.where = { op = "rotate", args = { angle = 3.5 } }
        feeds.x = { op = "rotate", output = "output" }
        """
    )
    data, where = op.inputs
    assert (data.kind, data.dtypes, data.layouts, data.feed) == ("any", ("UINT8",), ("HWC",), None)
    assert where.feed == Feed("rotate", {"angle": 3.5})
    assert op.args["x"].feed == Feed("rotate")
    assert [port.follows for port in op.outputs] == [True, False]
    assert op.conflicts_with("where") == {"x"}
    assert (op.together, op.whole_batch) == ((("x", "y"),), True)
    fewer = pasted("[paste]\nports = 1")
    assert [port.name for port in fewer.inputs] == ["data"]
    assert fewer.max_inputs == 1


def test_an_operator_of_any_number_of_inputs_asks_for_as_many_as_have_a_kind(
    catalog: Catalog,
) -> None:
    cat = catalog["cat"]
    assert [(port.name, port.optional) for port in cat.inputs] == [
        ("input_0", False),
        ("input_1", False),
    ]
    assert cat.max_inputs > 2
    assert cat.input(2).optional


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("gives = { shap = 'crop' }", r"gives: key 'shap'.*Did you mean shape"),
        ("gives = { shape = 'crip' }", r"gives: shape: word 'crip'.*Did you mean crop"),
        ("gives = { shap = { shape = 'crop' } }", r"gives: output 'shap'.*Did you mean shape"),
        ("feeds.wher = { op = 'rotate' }", r"feeds: input 'wher'.*Did you mean where"),
        ("feeds.where = { op = 'rotat' }", r"feeds.where: op 'rotat'.*Did you mean rotate"),
        ("feeds.where = { op = 'rotate', arg = {} }", r"feeds.where: key 'arg'.*Did you mean args"),
        ("layouts = { dat = ['HWC'] }", r"layouts: input 'dat'.*Did you mean data"),
        ("together = [['x', 'z']]", r"together: argument 'z' is not known"),
    ],
)
def test_a_rule_that_fits_nothing_is_an_error(toml: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        pasted(f"[paste]\n{toml}")


def test_only_usable_operators_feed_others(catalog: Catalog) -> None:
    for op in catalog.values():
        for place in (*op.inputs, *op.args.values()):
            if place.feed is not None:
                assert catalog[place.feed.op].unusable is None, op.name


def test_kinds_that_fit_each_other() -> None:
    assert kind_fits("image", "image")
    assert kind_fits("boxes", "number")
    assert kind_fits("any", "encoded")
    assert kind_fits("mask", "any")
    assert not kind_fits("image", "number")
    assert not kind_fits("encoded", "label")


def test_nodes_are_of_usable_operators_and_name_their_inputs_and_arguments(
    catalog: Catalog,
) -> None:
    for template in load_templates().values():
        for node in template.nodes:
            spec = catalog[node.op]
            assert not spec.unusable
            assert len(node.inputs) <= max(len(spec.inputs), spec.max_inputs), template.name
            assert not (node.args.keys() | node.feeds.keys()) - spec.args.keys(), template.name


def test_every_template_says_what_it_is() -> None:
    for template in load_templates().values():
        assert template.label
        assert template.summary.endswith(".")
        assert len(set(template.synonyms)) == len(template.synonyms), template.name


def test_nodes_have_ids_of_their_own_and_are_fed_by_what_is_before_them() -> None:
    for template in load_templates().values():
        known = [PLACE, SECOND]
        for node in template.nodes:
            assert {*node.inputs, *node.feeds.values()} <= {*known}, template.name
            assert node.id not in known, template.name
            known.append(node.id)
        assert template.nodes
