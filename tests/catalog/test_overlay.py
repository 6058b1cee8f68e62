from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from workbench.catalog import ArgSpec, Catalog, OpSpec, PortSpec
from workbench.catalog.overlay import Overlay, apply_overlay, read_overlay
from workbench.catalog.schema import read_schemas
from workbench.errors import CatalogError

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
        ("[rotate]\ncategory = 'color'", r"category 'color'.*Did you mean colour"),
        ("[rotate]\ninputs = ['picture']", r"inputs: kind 'picture'.*Known: encoded, image"),
        ("[rotate]\ninputs = ['image', 'mask']", r"inputs: 2 kinds, but it has 1 named inputs"),
        ("[rotate]\noutputs = {a='image', b='mask'}", r"outputs: 2 ports, but it has 1 outputs"),
        ("[rotate]\nexclusive = [['angel']]", r"exclusive: argument 'angel'.*Did you mean angle"),
        ("[rotate", r"geometry.toml: not TOML"),
    ],
)
def test_a_row_that_fits_nothing_is_an_error(toml: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        merged(toml)


def test_an_operator_has_one_row() -> None:
    with pytest.raises(CatalogError, match=r"b.toml: \[rotate\] has a row in a.toml already"):
        read_overlay({"a.toml": "[rotate]", "b.toml": "[rotate]"})


def test_every_operator_of_dali_has_a_row(catalog: Catalog) -> None:
    rows = read_overlay().ops
    assert set(rows) == set(catalog), "rows of what DALI lacks, or operators without a row"
    assert "other" not in {op.category for op in catalog.values()}


def test_sixty_image_operators_and_more_are_described(catalog: Catalog) -> None:
    image = [
        op.name
        for op in catalog.values()
        if any(port.kind == "image" for port in (*op.inputs, *op.outputs))
    ]
    assert len(image) >= 60, len(image)
    usable = [op.name for op in catalog.values() if op.image and op.unusable is None]
    assert len(usable) >= 45, len(usable)


def test_every_shared_row_is_shared(catalog: Catalog) -> None:
    overlay: Overlay = read_overlay()
    for name in overlay.shared:
        assert sum(name in op.args for op in catalog.values()) > 1, name
    for group in overlay.exclusive:
        assert any(group in op.exclusive for op in catalog.values()), group


def test_exclusive_groups_are_found_from_both_sides(catalog: Catalog) -> None:
    resize = catalog["resize"]
    assert resize.rivals("size") == {
        *("resize_shorter", "resize_longer", "resize_x", "resize_y", "resize_z"),
    }
    assert "size" in resize.rivals("resize_x")
    assert "resize_y" not in resize.rivals("resize_x")
    assert catalog["random.uniform"].rivals("values") == {"range"}
    assert catalog["rotate"].exclusive == ()


def test_start_values_do_not_exclude_each_other(catalog: Catalog) -> None:
    for op in catalog.values():
        given = {arg.name for arg in op.args.values() if arg.start is not None}
        for name in given:
            assert not given & op.rivals(name), f"{op.name}.{name}"


def test_every_required_argument_of_a_usable_operator_has_a_start_value(catalog: Catalog) -> None:
    for op, arg in described(catalog):
        if arg.required and op.unusable is None:
            assert arg.start is not None, f"{op.name}.{arg.name}"


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
        exclusive = [["angle", "newer"]]
        args.newer = { start = 1 }
        [unheard_of]
        category = "geometry"
        """
    overlay = read_overlay({"geometry.toml": toml})
    rotate = apply_overlay([ROTATE], overlay, strict=False)["rotate"]
    assert (rotate.category, rotate.exclusive, set(rotate.args)) == ("geometry", (), {"angle"})
    with pytest.raises(CatalogError, match="unheard_of"):
        apply_overlay([ROTATE], overlay)
