"""Operators and arguments as DALI's schemas and the workbench's own tables describe them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib import import_module

import pytest

from workbench.catalog import Catalog, load_catalog
from workbench.catalog import schema as schema_module
from workbench.catalog.extra_operators.arithmetic import CALLED, arithmetic_specs
from workbench.catalog.extra_operators.python_decoder import PILLOW_DECODER
from workbench.catalog.extra_operators.readers import REQUESTS, TARGET_READERS
from workbench.catalog.schema import enum_names
from workbench.errors import CatalogError


def test_every_visible_operator_is_there_under_its_name_in_fn(catalog: Catalog) -> None:
    import nvidia.dali

    assert len(catalog) > 100
    for name, op in catalog.items():
        found = nvidia.dali if op.expression.startswith("math.") else nvidia.dali.fn
        if op.module:
            found = import_module(f"nvidia.dali.auto_aug.{op.module}")
        if op.expression and not op.expression.startswith("math."):
            continue  # Python's operators: there is nothing to be called
        own = (*REQUESTS, *TARGET_READERS, "external_source_fields")
        if op == PILLOW_DECODER or name in own:
            continue
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), name


def test_hidden_and_deprecated_operators_are_left_out(catalog: Catalog) -> None:
    for name in ("file_reader", "image_decoder", "_shape", "readers.sequence", "coin_flip"):
        assert name not in catalog


def test_an_unknown_operator_names_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match=r"'rotat'.*DALI.*Did you mean rotate"):
        catalog["rotat"]


def test_defaults_are_values_and_not_text(catalog: Catalog) -> None:
    assert catalog["random_resized_crop"].args["random_area"].default == (0.08, 1.0)
    assert catalog["crop_mirror_normalize"].args["mirror"].default == 0
    assert catalog["crop_mirror_normalize"].args["dtype"].default == "FLOAT"
    assert catalog["crop_mirror_normalize"].args["output_layout"].default == "CHW"
    assert catalog["rotate"].args["interp_type"].default == "INTERP_LINEAR"
    assert catalog["rotate"].args["keep_size"].default is False
    assert catalog["decoders.image"].args["output_type"].default == "RGB"
    assert catalog["decoders.image"].args["hw_decoder_load"].default == 0.65
    assert catalog["readers.file"].args["file_root"].default is None


def test_every_enum_names_members_of_dali_types(catalog: Catalog) -> None:
    from nvidia.dali import types

    for op in catalog.values():
        for arg in op.args.values():
            assert (arg.enum is not None) == arg.kind.startswith("enum")
            if arg.enum is None:
                continue
            for name in (*arg.members, *([arg.default] if isinstance(arg.default, str) else [])):
                assert getattr(types, name) == getattr(getattr(types, arg.enum), name)
                assert name in arg.members, f"{op.name}.{arg.name}"


def test_arguments_say_what_they_take(catalog: Catalog) -> None:
    rotate = catalog["rotate"].args
    assert rotate["angle"].required
    assert rotate["angle"].tensor
    assert rotate["angle"].kind == "float"
    assert not rotate["fill_value"].tensor
    assert "deprecated alias for dtype" in (rotate["output_dtype"].deprecated or "")
    assert catalog["dl_tensor_python_function"].args["function"].kind == "object"


def test_seed_and_device_are_no_arguments(catalog: Catalog) -> None:
    for op in catalog.values():
        assert not {"seed", "device", "name", "save_attrs"} & set(op.args)
        assert not any(name.startswith("_") for name in op.args)
    assert catalog["readers.file"].seeded
    assert not catalog["readers.file"].random_state
    assert catalog["noise.shot"].random_state
    assert not catalog["rotate"].seeded


def test_ports_have_names_layouts_and_devices(catalog: Catalog) -> None:
    assert [port.name for port in catalog["readers.file"].outputs] == ["jpegs", "labels"]
    assert catalog["readers.file"].inputs == ()
    assert [port.name for port in catalog["rotate"].inputs] == ["data"]
    assert "HWC" in catalog["rotate"].inputs[0].layouts
    assert [(port.name, port.optional) for port in catalog["filter"].inputs] == [
        ("data", False),
        ("filter", False),
        ("fill_value", True),
    ]
    assert catalog["cat"].max_inputs > len(catalog["cat"].inputs)
    assert catalog["cat"].input(3).name == "input_3"
    assert catalog["decoders.image"].devices == ("cpu", "mixed")
    assert catalog["jitter"].devices == ("gpu",)


def test_arguments_that_change_the_outputs_are_known(catalog: Catalog) -> None:
    """The script unpacks as many outputs as DALI returns, for every flag and every choice."""
    from nvidia.dali.backend import GetSchema, OpSpec

    checked = 0
    for op in catalog.values():
        own = (
            op.name in {*TARGET_READERS, *REQUESTS, "random_bbox_crop"}  # by inputs, too
            or op.expression
            or "readers." in op.name
            or not op.schema
        )
        schema = None if own else GetSchema(op.schema)
        if schema is None or not schema.HasOutputFn():
            continue
        values = {
            arg.name: (True,) if arg.kind == "bool" else arg.choices for arg in op.args.values()
        }
        plain = len(op.outputs_with((), {}))
        if schema.CalculateOutputs(OpSpec(op.schema)) != plain:
            continue  # depends on the inputs, and is tested by pipelines
        for name, value in [(key, each) for key, given in values.items() for each in given]:
            spec = OpSpec(op.schema)
            spec.AddArg(name, value)
            found = schema.CalculateOutputs(spec)
            assert found == len(op.outputs_with((), {name: value})), (op.name, name, value)
            checked += 1
    assert checked > 10


def test_no_input_is_named_like_an_argument_that_is_in_use(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is None:
            needed = {port.name for port in op.inputs if not port.optional}
            assert not needed & set(op.args), op.name


def test_the_catalogue_is_read_once(catalog: Catalog) -> None:
    assert load_catalog() is catalog


def test_without_dali_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvidia.dali", None)
    with pytest.raises(CatalogError, match="pip install nvidia-dali"):
        schema_module.read_schemas()


def test_importing_the_catalogue_imports_no_dali() -> None:
    code = """
        import sys
        import workbench.catalog, workbench.catalog.listing
        assert not [name for name in sys.modules if name.startswith("nvidia")]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


# Numbers of DALI's enumerations become the names that the catalogue offers.


def test_names_by_number() -> None:
    from nvidia.dali import types

    names = enum_names("DALIDataType")
    assert names[int(types.UINT8)] == "UINT8"
    assert names[int(types.FLOAT)] == "FLOAT"
    assert enum_names("DALIInterpType")[int(types.INTERP_LINEAR)] == "INTERP_LINEAR"


def test_every_member_that_an_argument_may_have(catalog: Catalog) -> None:
    for spec in catalog.values():
        for arg in spec.args.values():
            if arg.enum is not None:
                assert set(arg.members) <= set(enum_names(arg.enum).values()), arg.name


def test_every_function_of_dali_is_there(catalog: Catalog) -> None:
    """``nvidia.dali.math``, and every operator of Python that a ``DataNode`` has."""
    import nvidia.dali.math
    from nvidia.dali.ops._operators import math as operators

    functions = {name for name in vars(nvidia.dali.math) if name.islower() and name[0] != "_"}
    functions -= {"sys"}
    symbols = set(operators._op_display_name) - {"plus"}  # it does nothing
    assert set(CALLED) == functions | symbols
    assert {*CALLED.values(), "subscript", "shape"} == set(arithmetic_specs())
    assert set(arithmetic_specs()) <= set(catalog)


@pytest.mark.parametrize("op", arithmetic_specs().values(), ids=lambda op: op.name)
def test_each_says_what_stands_where(op: object) -> None:
    from workbench.catalog import OpSpec

    assert isinstance(op, OpSpec)
    assert op.expression.count("{}") == len(op.operands)
    names = {*op.args, *(port.name for port in op.inputs)}
    for group in (*op.operands, *op.mutually_exclusive, *op.one_of):
        assert set(group) <= names
    assert not op.inputs[0].optional
    assert all(port.optional for port in op.inputs[1:])
    assert op.unusable is None
    assert op.label
    assert op.summary.endswith(".")
    given = {name for name, arg in op.args.items() if arg.start is not None}
    assert all(given & set(group) for group in op.one_of), "a new node is sound"
    assert all(len(given & set(group)) <= 1 for group in op.mutually_exclusive)


def test_none_is_found_by_the_name_of_a_schema(catalog: Catalog) -> None:
    """Of one hidden operator of DALI there are many here."""
    assert {op.schema for op in arithmetic_specs().values()} == {""}
    without = [op for op in catalog.values() if not op.schema and not op.expression]
    own = {PILLOW_DECODER.name, "request", "external_source_fields"}
    assert {op.name for op in without if not op.module} == own


def test_words_of_a_search_find_them(catalog: Catalog) -> None:
    assert "a * b" in catalog["math.mul"].doc
    assert catalog["math.clamp"].label == "Clamp"
    assert catalog["subscript"].category == "crop"
    assert {catalog[name].category for name in CALLED.values()} == {"arithmetic"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("readers.nemo_asr", "no source of the workbench uses it"),
        ("experimental.readers.fits", "no source of the workbench uses it"),
        ("readers.video", "video"),
        ("segmentation.select_masks", "COCO"),
        ("decoders.numpy", "NumPy"),
        ("debayer", "Bayer"),
        ("dl_tensor_python_function", "@workbench.node"),
    ],
)
def test_the_reason_says_what_is_lacking(catalog: Catalog, name: str, reason: str) -> None:
    assert reason in (catalog[name].unusable or "")


@pytest.mark.parametrize(
    "name",
    [
        *("readers.file", "decoders.image", "random.uniform", "random.coin_flip", "rotate"),
        *("jitter", "cat", "filter", "bb_flip", "transforms.rotation", "peek_image_shape"),
    ],
)
def test_what_a_graph_is_made_of_is_usable(catalog: Catalog, name: str) -> None:
    assert catalog[name].unusable is None


def test_a_usable_image_operator_fits_into_a_chain(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.image and op.unusable is None:
            (taken,) = [port.kind for port in op.inputs if not port.optional]
            assert taken in ("image", "any"), op.name
            (given,) = op.outputs
            assert given.kind == "image" or given.follows, op.name
            assert op.devices, op.name


def test_reasons_are_short_and_have_no_full_stop(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is not None:
            assert 5 < len(op.unusable) <= 80, op.name
            assert not op.unusable.endswith("."), op.name
