"""Build, preview, measure and export NVIDIA DALI image augmentation pipelines.

::

    import workbench as wb

    graph = wb.read("photos").decode().resize(size=(224, 224))
    graph = graph.rotate(angle=wb.random.uniform(range=(-10, 10)), p=0.5)
    graph.show()                                 # a grid of pictures
    images = graph.batch(0).images               # arrays, equal to those of the exported script
    wb.Workbench(graph)                          # the editor, in a notebook

The main names, where ``graph`` is a graph and ``w = wb.Workbench(graph)``::

    Start a graph
        read(data)                     from a folder, a list, a data frame, arrays or a data set
        load_recipe, read_graph        from a recipe such as simclr, or from a file
        from_pipeline, from_file       from an existing DALI pipeline or script
        from_torchvision, from_albumentations; compare_transforms compares their pixels
    Add operators
        graph.rotate(...), fn, random  DALI's operators, as methods and functions; random values
        graph.with_p, one_of, some_of  random branches; p= of each operator
        node, outputs                  your own functions; a graph with the given outputs
    See results
        graph.show(), graph.batch(0)   pictures; arrays by name, with classes and random values
        Workbench, compare             the editor; two graphs next to each other
        w.param("rotate.angle")        an argument that ipywidgets.link connects to a slider
    Train
        loader(graph)                  batches as tensors of torch or jax, or NumPy arrays
        emit_script, export, w.to_code the script, and programs for PyTorch and others
        render, prove, open_version    augmented samples as files; check these again
        watch, audit                   is the loader the limit? which samples are in each epoch?
    Measure
        Benchmark, memory, w.stages(), w.tune(), w.optimise()  images/s; memory; a faster graph
    Check
        check_graph, check_warnings    faults and warnings of a graph
        check_folder, decoder_coverage bad files of a folder; images that JPEG engines decode
        diff, w.verify(), pack         why two pipelines differ; preview and script; a server

``help(wb.read)`` describes a name, ``dir(wb)`` lists all names, and ``REFERENCE.md`` has examples.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.names import did_you_mean

if TYPE_CHECKING:
    from workbench.bench import (
        COARSE_CONFIG,
        QUICK_CONFIG,
        Benchmark,
        Grid,
        Measurement,
        MeasurementConfig,
        Report,
        load_report,
    )
    from workbench.catalog import Catalog, load_catalog
    from workbench.emit import emit_script
    from workbench.emit.interop.graph import from_albumentations, from_torchvision
    from workbench.emit.pipeline_import.graph import ImportedGraph
    from workbench.emit.targets import Export
    from workbench.engine.build.in_process_loader import InProcessLoader, loader
    from workbench.engine.importing import from_file, from_pipeline
    from workbench.engine.protocol.process import Engine
    from workbench.errors import (
        ArgumentError,
        CancelledError,
        CatalogError,
        DataError,
        EngineClosedError,
        EngineError,
        GraphEditError,
        GraphError,
        GraphExportError,
        GraphFaultsError,
        GraphFormatError,
        ImportFailedError,
        MissingLibraryError,
        PipelineError,
        PipelineFormatError,
        SaveError,
        UnknownNameError,
        UnsupportedUseError,
        WorkbenchError,
        WorkerCrashedError,
        WorkerTimeoutError,
    )
    from workbench.graph import (
        DataNode,
        Edge,
        Fault,
        Graph,
        Node,
        Port,
        Settings,
        check_graph,
        dump_graph,
        fn,
        load_graph,
        load_recipe,
        load_recipes,
        outputs,
        random,
        read,
        read_graph,
    )
    from workbench.graph.builder.function_node import FunctionNode, node, numba_node
    from workbench.graph.builder.node_handle import NodeHandle
    from workbench.graph.builder.python_source import source
    from workbench.graph.checks.check_warnings import check_warnings
    from workbench.graph.model.faults import Faults
    from workbench.graph.storage.import_report import ImportReport
    from workbench.graph.user_functions.trust import trust_graph
    from workbench.graph.variants.difference import GraphDifferences
    from workbench.health import check_folder, decoder_coverage
    from workbench.health.check import FolderCheck
    from workbench.health.decoders import DecoderCoverage
    from workbench.health.memory import MemoryEstimate, memory
    from workbench.health.skip_bad import export
    from workbench.optimiser import Optimisation, optimise
    from workbench.pipeline_difference import (
        PipelineDifference,
        TransformComparison,
        compare_transforms,
        diff,
    )
    from workbench.preview import (
        OutputBatch,
        PreviewRequest,
        PreviewResult,
        preview_batch,
        preview_outputs,
    )
    from workbench.preview.requests.replay import replay
    from workbench.preview.verify import Verification
    from workbench.samples import write_samples
    from workbench.serving_check import ServingPack, pack
    from workbench.training.audit import Audit, audit
    from workbench.training.watch.callback import WatchCallback, watch_callback
    from workbench.training.watch.report import WatchReport
    from workbench.training.watch.watcher import Watch, watch
    from workbench.ui.contract.selected_samples import SelectedSamples
    from workbench.ui.notebook.graph_comparison import GraphComparison, compare
    from workbench.ui.notebook.notebook_code import LiveNode, LiveSettings
    from workbench.ui.notebook.widget import Workbench
    from workbench.versions.comparison import VersionDifference
    from workbench.versions.manifest import Version, open_version
    from workbench.versions.proof import Proof, prove
    from workbench.versions.render import render

__version__ = "0.1.0"

__all__ = [
    "COARSE_CONFIG",
    "QUICK_CONFIG",
    "ArgumentError",
    "Audit",
    "Benchmark",
    "CancelledError",
    "Catalog",
    "CatalogError",
    "DataError",
    "DataNode",
    "DecoderCoverage",
    "Edge",
    "Engine",
    "EngineClosedError",
    "EngineError",
    "Export",
    "Fault",
    "Faults",
    "FolderCheck",
    "FunctionNode",
    "Graph",
    "GraphComparison",
    "GraphDifferences",
    "GraphEditError",
    "GraphError",
    "GraphExportError",
    "GraphFaultsError",
    "GraphFormatError",
    "Grid",
    "ImportFailedError",
    "ImportReport",
    "ImportedGraph",
    "InProcessLoader",
    "LiveNode",
    "LiveSettings",
    "Measurement",
    "MeasurementConfig",
    "MemoryEstimate",
    "MissingLibraryError",
    "Node",
    "NodeHandle",
    "Optimisation",
    "OutputBatch",
    "PipelineDifference",
    "PipelineError",
    "PipelineFormatError",
    "Port",
    "PreviewRequest",
    "PreviewResult",
    "Proof",
    "Report",
    "SaveError",
    "SelectedSamples",
    "ServingPack",
    "Settings",
    "TransformComparison",
    "UnknownNameError",
    "UnsupportedUseError",
    "Verification",
    "Version",
    "VersionDifference",
    "Watch",
    "WatchCallback",
    "WatchReport",
    "Workbench",
    "WorkbenchError",
    "WorkerCrashedError",
    "WorkerTimeoutError",
    "__version__",
    "audit",
    "check_folder",
    "check_graph",
    "check_warnings",
    "compare",
    "compare_transforms",
    "decoder_coverage",
    "diff",
    "dump_graph",
    "emit_script",
    "export",
    "fn",
    "from_albumentations",
    "from_file",
    "from_pipeline",
    "from_torchvision",
    "load_catalog",
    "load_graph",
    "load_recipe",
    "load_recipes",
    "load_report",
    "loader",
    "memory",
    "node",
    "numba_node",
    "open_version",
    "optimise",
    "outputs",
    "pack",
    "preview_batch",
    "preview_outputs",
    "prove",
    "random",
    "read",
    "read_graph",
    "render",
    "replay",
    "source",
    "trust_graph",
    "watch",
    "watch_callback",
    "write_samples",
]

_HOMES = {
    "bench": (
        "Benchmark COARSE_CONFIG Grid Measurement MeasurementConfig QUICK_CONFIG Report load_report"
    ),
    "catalog": "Catalog load_catalog",
    "emit": "emit_script",
    "emit.pipeline_import.graph": "ImportedGraph",
    "graph.storage.import_report": "ImportReport",
    "emit.targets": "Export",
    "emit.interop.graph": "from_albumentations from_torchvision",
    "engine.importing": "from_file from_pipeline",
    "engine.build.in_process_loader": "InProcessLoader loader",
    "engine.protocol.process": "Engine",
    "errors": (
        "ArgumentError CancelledError CatalogError DataError EngineClosedError EngineError "
        "GraphEditError GraphError GraphExportError GraphFaultsError GraphFormatError "
        "ImportFailedError MissingLibraryError PipelineError PipelineFormatError SaveError "
        "UnknownNameError UnsupportedUseError WorkbenchError WorkerCrashedError "
        "WorkerTimeoutError "
    ),
    "graph": (
        "DataNode Edge Fault Graph Node Port "
        "Settings check_graph dump_graph fn load_graph load_recipe "
        "load_recipes outputs random read read_graph "
    ),
    "graph.checks.check_warnings": "check_warnings",
    "graph.builder.function_node": "FunctionNode node numba_node",
    "graph.builder.python_source": "source",
    "graph.user_functions.trust": "trust_graph",
    "graph.variants.difference": "GraphDifferences",
    "health": "check_folder",
    "health.decoders": "DecoderCoverage decoder_coverage",
    "health.memory": "MemoryEstimate memory",
    "health.skip_bad": "export",
    "graph.model.faults": "Faults",
    "health.check": "FolderCheck",
    "ui.notebook.notebook_code": "LiveNode LiveSettings",
    "graph.builder.node_handle": "NodeHandle",
    "ui.contract.selected_samples": "SelectedSamples",
    "preview.verify": "Verification",
    "optimiser": "Optimisation optimise",
    "pipeline_difference": "PipelineDifference TransformComparison compare_transforms diff",
    "preview": "OutputBatch PreviewResult PreviewRequest preview_batch preview_outputs",
    "preview.requests.replay": "replay",
    "samples": "write_samples",
    "serving_check": "ServingPack pack",
    "training.audit": "Audit audit",
    "training.watch.callback": "WatchCallback watch_callback",
    "training.watch.report": "WatchReport",
    "training.watch.watcher": "Watch watch",
    "ui.notebook.graph_comparison": "GraphComparison compare",
    "versions.comparison": "VersionDifference",
    "versions.manifest": "Version open_version",
    "versions.proof": "Proof prove",
    "versions.render": "render",
    "ui.notebook.widget": "Workbench",
}
"""Public names that each module defines."""
GRAPH_METHODS = {"batch": "preview.graph_batches", "show": "preview.graph_batches"}
"""Module of each graph method that is imported on first use, by method name."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # otherwise mypy would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            hint = "" if name.startswith("_") else did_you_mean(name, __all__)
            message = f"workbench has no attribute {name!r}."
            from workbench.errors import UnknownNameError

            raise UnknownNameError(f"{message} {hint}".rstrip())
        value = getattr(import_module(f"workbench.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    # Empty for help(workbench) alone, which would list the members of all classes: 7,000 lines.
    caller = sys._getframe(1)
    while caller.f_back and caller.f_globals.get("__name__") == "inspect":
        caller = caller.f_back
    return [] if caller.f_globals.get("__name__") == "pydoc" else __all__


def _register_completion() -> None:
    running = sys.modules.get("IPython.core.getipython")
    shell = running.get_ipython() if running else None
    if shell is not None:
        import_module("workbench.ui.notebook.shell_hooks").register(shell)


_register_completion()


def load_ipython_extension(shell: Any) -> None:
    """Register the cell magic ``%%dali``, called by ``%load_ext workbench``."""
    import_module("workbench.ui.notebook.cell_magic").register(shell)
