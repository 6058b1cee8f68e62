"""Operators of DALI that call a function of the user, which travels as source text."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import NOTHING_KNOWN, ArgSpec, OpSpec, PortSpec

MOST_OUTPUTS = 16

NUMBER_TYPES = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
    *("FLOAT", "FLOAT64"),
)
"""The types of arrays that numba takes from DALI."""

_FUNCTION = {
    "function": ArgSpec(
        *("function", "str", "The name of the function."),
        required=True,
        label="Function",
        form="shown",
        advanced=False,
    ),
    "source": ArgSpec(
        *("source", "str", "The function's source, which runs only where it is trusted."),
        required=True,
        label="Source",
        form="shown",
        advanced=False,
    ),
    "num_outputs": ArgSpec(
        *("num_outputs", "int", "How many arrays the function returns."),
        default=1,
        label="Outputs",
        minimum=1,
        maximum=MOST_OUTPUTS,
        form="shown",
    ),
    "output_layouts": ArgSpec(
        *("output_layouts", "str_list", "Layouts of what it returns, such as HWC."),
        label="Layouts",
        advanced=False,
    ),
}
_BATCHES = {
    "batch_processing": ArgSpec(
        *("batch_processing", "bool", "Whether it is given lists of all samples of a batch."),
        default=False,
        label="Whole batches",
    ),
}


def _types(name: str, doc: str, label: str) -> dict[str, ArgSpec]:
    return {
        name: ArgSpec(
            *(name, "enum_list", doc),
            required=True,
            enum="DALIDataType",
            members=NUMBER_TYPES,
            label=label,
            form="shown",
        )
    }


def _counts(name: str, doc: str, label: str, items: int | None = None) -> dict[str, ArgSpec]:
    needed = items is None
    spec = ArgSpec(name, "int_list", doc, required=needed, label=label, form="shown", items=items)
    return {name: spec}


_NUMBA = {
    "setup_fn": ArgSpec(
        *("setup_fn", "str", "The function in the source that sets the extents of what it writes."),
        label="Sets extents",
        form="shown",
    ),
    **_BATCHES,
    **_types("in_types", "The types of what it is given.", "Types in"),
    **_types("out_types", "The types of what it writes.", "Types out"),
    **_counts("ins_ndim", "The numbers of dimensions of what it is given.", "Dimensions in"),
    **_counts("outs_ndim", "The numbers of dimensions of what it writes.", "Dimensions out"),
    **_counts("blocks", "On the GPU: how many blocks, by x, y, z.", "Blocks", 3),
    **_counts("threads_per_block", "On the GPU: threads of a block, by x, y, z.", "Threads", 3),
}


def _calling(name: str, schema: str, args: Mapping[str, ArgSpec], summary: str) -> OpSpec:
    return OpSpec(
        name=name,
        schema=schema,
        devices=("gpu",) if name == "torch_python_function" else ("cpu", "gpu"),
        inputs=(PortSpec("input_0"),),
        max_inputs=99,
        outputs=(PortSpec("output", gives=NOTHING_KNOWN, follows=True),),
        counted_outputs="num_outputs",
        whole_batch=True,  # its function may look at all samples, and keep something between them
        stays=name != "torch_python_function",
        args={**_FUNCTION, **args},
        doc=summary,
        summary=summary,
        category="general",
        label=f"{'Numba' if args is _NUMBA else 'Python'} function",
    )


PYTHON_FUNCTION = _calling(
    "python_function",
    "PythonFunction",
    _BATCHES,
    "A function of Python, run on each sample: with NumPy on the CPU, with CuPy on the GPU.",
)
TORCH_FUNCTION = _calling(
    "torch_python_function",
    "TorchPythonFunction",
    _BATCHES,
    "A function of Python with torch, run on each sample on the GPU.",
)
NUMBA_FUNCTION = _calling(
    "numba_function",
    "NumbaFunction",
    _NUMBA,
    "A function of Python that numba compiles, run on each sample.",
)
OWN_CODE: Mapping[str, OpSpec] = {
    spec.name: spec for spec in (PYTHON_FUNCTION, TORCH_FUNCTION, NUMBA_FUNCTION)
}
"""By name."""
PLUGINS: Mapping[str, str] = {
    TORCH_FUNCTION.name: "nvidia.dali.plugin.pytorch.fn",
    NUMBA_FUNCTION.name: "nvidia.dali.plugin.numba.fn",
}
"""The modules of those that are none of ``nvidia.dali.fn``."""
