"""The names that `import workbench` gives. To add or remove one is a decision made here."""

import json
import subprocess
import sys

import workbench as wb

WITHOUT_DALI = """
import json, sys
sys.modules["nvidia.dali"] = None
import workbench as wb
from IPython.core.completer import Completer
print(json.dumps([Completer(namespace={"wb": wb}).attr_matches("wb.rea"), wb.read.__doc__]))
"""

PUBLIC = {
    *("__version__", "Workbench", "Engine", "Benchmark", "Measurement", "Report"),
    *(
        "Graph",
        "FunctionNode",
        "node",
        "numba_node",
        "trust_graph",
        "Node",
        "Edge",
        "Port",
        "Settings",
        "Fault",
        "Catalog",
    ),
    *("load_recipe", "load_recipes", "load_graph", "read_graph", "dump_graph", "check_graph"),
    "check_warnings",
    *("load_catalog", "emit_script", "export", "Export", "check_folder", "write_samples"),
    *("PreviewResult", "PreviewRequest", "preview_batch", "preview_outputs", "OutputBatch"),
    "replay",
    *("optimise", "Optimisation", "loader"),
    *("read", "outputs", "fn", "random", "DataNode", "compare", "GraphComparison"),
    *("WorkbenchError", "ArgumentError", "CatalogError", "DataError", "SaveError"),
    *("GraphError", "GraphFormatError", "GraphEditError", "GraphFaultsError", "GraphExportError"),
    *("EngineError", "PipelineError", "WorkerCrashedError", "WorkerTimeoutError"),
    *("from_file", "from_pipeline", "ImportedGraph", "ImportReport"),
    *("from_torchvision", "from_albumentations", "compare_transforms", "TransformComparison"),
    *(
        "ImportFailedError",
        "PipelineFormatError",
        "FunctionNode",
        "node",
        "numba_node",
        "trust_graph",
    ),
    "CancelledError",
}


def test_the_public_names_are_these() -> None:
    assert set(wb.__all__) == PUBLIC
    assert len(wb.__all__) == len(PUBLIC)
    assert dir(wb) == wb.__all__


def test_every_name_can_be_had() -> None:
    for name in PUBLIC:
        assert getattr(wb, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(wb, "workbench")


def test_names_complete_without_dali() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DALI], capture_output=True, text=True, check=True
    )
    completions, words = json.loads(done.stdout)
    assert completions == ["wb.read", "wb.read_graph"]
    assert words == wb.read.__doc__
