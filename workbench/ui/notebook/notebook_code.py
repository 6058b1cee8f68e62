"""Access to a workbench from cells: nodes, linked parameters, batches, loaders, code."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import traitlets

from workbench.arguments import FLAG, TEXT, WHOLE, argument_errors_as, checked, require_choice
from workbench.emit.targets import export
from workbench.engine.build.in_process_loader import InProcessLoader, build_pipeline, make_loader
from workbench.engine.protocol.progress import one_line_interrupt
from workbench.errors import (
    ArgumentError,
    EngineClosedError,
    GraphEditError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.builder.data_node import plain_value
from workbench.graph.builder.graph_methods import vars_of_settings
from workbench.graph.builder.node_handle import NodeHandle
from workbench.names import did_you_mean
from workbench.preview import OutputBatch
from workbench.preview.graph_batches import run_batch
from workbench.ui.export.cell_source import cell_source
from workbench.ui.notebook.notebook_runs import RunAccess

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

CLOSED = "This workbench is closed. Create another one: workbench.Workbench(data, w.graph)."


SETTINGS_NAMES = vars_of_settings()


class UnknownAttributesRaise:
    """Mixin that raises AttributeError when a cell sets an attribute that does not exist."""

    if not TYPE_CHECKING:  # mypy would accept every name

        def __getattr__(self, name: str) -> Any:
            public = [] if name.startswith("_") else [n for n in dir(self) if n[0] != "_"]
            hint = did_you_mean(name, public)
            message = f"{type(self).__name__} has no attribute {name!r}. {hint}"
            raise UnknownNameError(message.rstrip())

        def __setattr__(self, name: str, value: Any) -> None:
            by_library = name.startswith("_") or name == "notify_change"  # traitlets replaces it
            if by_library:
                super().__setattr__(name, value)
                return
            found = getattr(type(self), name, None)
            if not hasattr(found, "__set__") or (isinstance(found, property) and not found.fset):
                raise UnknownNameError(self._why_not_set(name))
            try:
                super().__setattr__(name, value)
            except traitlets.TraitError as error:
                choices = getattr(getattr(type(self), name), "values", None)
                what = f"{type(self).__name__}.{name}"
                if choices:
                    require_choice(what, value, choices)
                raise ArgumentError(f"{what}: {error}") from None

    def _why_not_set(self, name: str) -> str:
        owner = type(self).__name__
        if name in dir(self):
            hint = " Use w.settings.batch_size = 4." if name == "settings" else ""
            return f"{owner}.{name} cannot be set.{hint}"
        if name in SETTINGS_NAMES:
            return (
                f"{owner} has no attribute {name!r}: it is a setting of the graph. "
                f"Use w.settings.{name} = ..."
            )
        known = [each for each in dir(self) if not each.startswith("_")]
        hint = did_you_mean(name, known)
        return f"{owner} has no attribute {name!r}, so it cannot be set. {hint}".rstrip()


class LiveNode(traitlets.HasTraits):  # a base class without traits: ``link`` requires it
    """Node of the current graph: ``w["rotate"].angle = 5`` is an edit that can be undone.

    Reading an attribute returns the same value as ``graph["rotate"]``. Raises GraphEditError if the
    node was removed.

    ::

        w["rotate"].angle = 10
        w["rotate"].set(angle=5, fill_value=0)
    """

    def __init__(self, workbench: CodeAccess, node_id: str) -> None:
        super().__init__()
        self._workbench, self._node_id = workbench, node_id

    # Not a property, which would swallow an UnknownNameError.
    def _current_node(self) -> NodeHandle:
        handle: NodeHandle = self._workbench.graph[self._node_id]
        return handle

    _written = "w[node]"

    @checked()
    def set(self, **arguments: Any) -> None:
        """Set arguments to values or nodes. This is one edit, which can be undone.

        Raises the errors of ``NodeHandle.set``, and EngineClosedError on a closed workbench.

        ::

            w["rotate"].set(angle=wb.random.uniform(range=(-10, 10)), fill_value=0)
        """
        self._workbench.graph = self._current_node().set(**arguments)

    def reset(self, *names: str) -> None:
        """Reset the named arguments, or all arguments if none is named, to their defaults.

        This is one edit. Raises GraphEditError for an unknown argument.

        ::

            w["rotate"].reset("angle")
        """
        self._workbench.graph = self._current_node().reset(*names)

    def remove(self) -> None:
        """Remove the node from the graph; its consumers are connected to its input.

        ::

            w["rotate"].remove()
        """
        self._workbench.graph = self._current_node().remove()

    def mute(self, muted: bool = True) -> None:
        """Mute the node, so that it does not run, or unmute it with ``muted=False``.

        ::

            w["rotate"].mute()
        """
        self._workbench.graph = self._current_node().mute(muted)

    def rename(self, new_id: str) -> None:
        """Change the id of the node. This object then refers to the new id.

        Raises GraphEditError for an id that is in use.

        ::

            w["rotate"].rename("turned")
        """
        self._workbench.graph = self._current_node().rename(new_id)
        self._node_id = new_id

    def traits(self, **_: Any) -> NoReturn:
        """Raise UnsupportedUseError; ``w.param`` returns an argument that can be linked."""
        argument = f"{self._node_id}.{next(iter(self._current_node().args), 'ARGUMENT')}"
        raise UnsupportedUseError(
            f"The node {self._node_id} cannot be linked or observed. Use one of its arguments: "
            f"ipywidgets.link((w.param({argument!r}), 'value'), (slider, 'value'))."
        )

    def __getitem__(self, name: str) -> Any:
        return self._current_node()[name]

    def observe(self, *_: Any, **__: Any) -> NoReturn:
        """Raise UnsupportedUseError; ``w.param`` returns an argument that can be observed."""
        self.traits()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._current_node(), name)
        # A random argument is a node too: its handle must change the workbench as well.
        is_node = isinstance(value, NodeHandle)
        return LiveNode(self._workbench, value.node.id) if is_node else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            self.set(**{name: value})

    def __dir__(self) -> list[str]:
        return dir(self._current_node())

    def __repr__(self) -> str:
        return repr(self._current_node())


class LiveSettings:
    """Settings of the current graph: ``w.settings.batch_size = 3`` is an edit that can be undone.

    Raises UnknownNameError for an unknown setting, and ArgumentError for a value out of range.

    ::

        w.settings.batch_size = 4
        assert w.graph.settings.batch_size == 4 and w.undo()
    """

    def __init__(self, workbench: CodeAccess) -> None:
        object.__setattr__(self, "_workbench", workbench)

    def __getattr__(self, name: str) -> Any:
        settings = self._workbench.graph.settings
        if name not in SETTINGS_NAMES:
            hint = did_you_mean(name, SETTINGS_NAMES, f"Use one of: {', '.join(SETTINGS_NAMES)}.")
            raise UnknownNameError(f"There is no setting {name!r}. {hint}")
        return getattr(settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._workbench.graph = self._workbench.graph.with_settings(**{name: value})

    def _refuse_item(self, name: object, _: object = None) -> NoReturn:
        raise UnsupportedUseError(f"Settings are attributes. Use w.settings.{name}.")

    __getitem__ = __setitem__ = _refuse_item

    def __dir__(self) -> list[str]:
        return [*SETTINGS_NAMES]

    def __repr__(self) -> str:
        return repr(self._workbench.graph.settings)


_ECHO_SECONDS = 2.0
"""Seconds after an update during which the browser may send the value back, rounded to the slider's
step.
"""


class Parameter(UnknownAttributesRaise, traitlets.HasTraits):
    """One argument of one node as a trait that can be linked to a widget and observed.

    ``value`` changes with the graph. While the argument is random or connected to a node, the last
    value remains. Changes of one parameter are undone together. A slider that rounds the value to
    its step when the slider is displayed or updated does not change the graph.
    """

    value = traitlets.Any(None, allow_none=True)

    def __init__(self, workbench: CodeAccess, node_id: str, argument: str) -> None:
        super().__init__()
        self._workbench, self._node_id, self._argument = workbench, node_id, argument
        self._updates: deque[tuple[float, Any]] = deque(maxlen=100)
        """Times and values of recent updates by the graph."""
        self._read()
        workbench.observe(self._read, "graph")
        self.observe(self._write, "value")

    def __repr__(self) -> str:
        return f"<{self._node_id}.{self._argument} = {self.value!r}>"

    def _present(self) -> Any:
        graph = self._workbench.graph
        if not graph.has(self._node_id) or self._argument in graph.node(self._node_id).inputs:
            return None
        return getattr(graph[self._node_id], self._argument)

    def _read(self, _: object = None) -> None:
        present = self._present()
        if present is not None and present != self.value:
            self._updates.append((time.monotonic(), present))
            self.value = present

    @traitlets.validate("value")
    def _without_rounding(self, proposal: Any) -> Any:
        """Return the current value if the proposed one is outdated or was rounded by a slider."""
        value, present = proposal["value"], self._present()
        if present is None:  # random, or connected to a node
            present = self.value
        step = self._browser_step()
        if _is_close(value, present, step):
            return present
        recent = time.monotonic() - _ECHO_SECONDS
        if step and any(when > recent and _is_close(value, v, step) for when, v in self._updates):
            return present
        return value

    def _browser_step(self) -> float:
        """Return the step of the linked slider that the browser is changing; 0 if there is none."""
        handlers = self._trait_notifiers.get("value", {}).get("change", [])
        links = [getattr(handler, "__self__", None) for handler in handlers]
        ends = [each.source for each in links if isinstance(each, _LINKS)]
        ends += [each.target for each in links if isinstance(each, _LINKS)]
        steps = [
            getattr(widget, "step", None)
            for widget, _ in ends
            if getattr(widget, "_property_lock", None)
        ]
        return max((step for step in steps if isinstance(step, int | float)), default=0.0)

    def _write(self, change: Any) -> None:
        value = change["new"]
        if value is None or plain_value(value) == self._present():
            return
        edited = self._workbench.graph[self._node_id].set(**{self._argument: value})
        group = f"{self._node_id}.{self._argument}"
        self._workbench._live.set_graph(edited, group)


_LINKS = (traitlets.link, traitlets.directional_link)


def _is_close(value: Any, other: Any, step: float) -> bool:
    """Return whether two numbers, or sequences of numbers, differ only by rounding to ``step``."""
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(value, other, strict=False)
        return len(value) == len(other) and all(_is_close(a, b, step) for a, b in pairs)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (value, other))
    return numbers and math.isclose(value, other, rel_tol=1e-9, abs_tol=step * 0.4999)


class CodeAccess(UnknownAttributesRaise, RunAccess):
    """Methods of ``Workbench`` (its subclass) for use in code: nodes, batches, loaders, export."""

    graph: Any
    _model: ViewModel
    _parameters: dict[str, Parameter]
    _closed = False

    @property
    def _live(self) -> ViewModel:
        """The view model. Reading it raises EngineClosedError if the workbench is closed."""
        if self._closed:
            raise EngineClosedError(CLOSED)
        return self._model

    @property
    def settings(self) -> LiveSettings:
        """Settings of the graph, which can be read and set: ``w.settings.batch_size = 3``.

        ::

            w.settings.num_threads = 2
        """
        return LiveSettings(self)

    def observe(self, handler: Any, names: Any = ..., type: Any = "change") -> None:
        """Call a function when a trait changes (see ``traitlets``)."""
        super().observe(handler, names, type)  # type: ignore[misc]

    def __getitem__(self, node_id: str) -> LiveNode:
        self.graph[node_id]  # raises with the nearest id
        return LiveNode(self, node_id)

    def __setitem__(self, node_id: str, _: object) -> NoReturn:
        self.graph[node_id]  # raises with the nearest id
        raise UnsupportedUseError(
            f"A node cannot be replaced. Set its arguments: w[{node_id!r}].ARGUMENT = VALUE."
        )

    def _ipython_key_completions_(self) -> list[str]:
        return [node.id for node in self.graph.walk()]

    @checked(name=TEXT)
    def param(self, name: str) -> Parameter:
        """Return an argument as a trait: ``w.param("rotate.angle")``.

        ::

            slider = ipywidgets.FloatSlider(min=-30, max=30)
            ipywidgets.link((w.param("rotate.angle"), "value"), (slider, "value"))

        ``link`` copies the first value to the second: pass the parameter first, or the slider's
        value replaces that of the graph.

        Raises GraphEditError for an unknown node or argument (the message lists the known ones),
        and for an argument that is random or connected to a node.
        """
        self._live  # noqa: B018
        node_id, _, argument = name.rpartition(".")
        if not node_id:
            raise GraphEditError(f"{name!r} is not an argument. Use node.argument: rotate.angle.")
        if name not in self._parameters:
            try:
                getattr(self.graph[node_id], argument)
            except AttributeError as error:
                raise GraphEditError(str(error)) from None
            source = self.graph.node(node_id).inputs.get(argument)
            if source is not None:
                raise GraphEditError(
                    f"{name} is set by the node {source.node}, so it has no value to link. Set one "
                    f'first: w["{node_id}"].{argument} = 0; or link an argument of {source.node}.'
                )
            self._parameters[name] = Parameter(self, node_id, argument)
        return self._parameters[name]

    @checked()
    def undo(self) -> bool:
        """Undo the last edit. Return False if there is none.

        ::

            w["rotate"].angle = 20
            assert w.undo()
        """
        return self._step("undo")

    @checked()
    def redo(self) -> bool:
        """Redo the last undone edit. Return False if there is none.

        ::

            if w.redo():
                print(w["rotate"].angle)
        """
        return self._step("redo")

    def _step(self, action: str) -> bool:
        before = self._live.history.document
        self._model.act("bar", {"do": action})
        self.graph = self._model.graph
        return self._model.history.document is not before

    @checked(number=WHOLE, samples=WHOLE)
    @one_line_interrupt()
    def batch(self, number: int = 0, samples: int | None = None) -> OutputBatch:
        """Return batch ``number`` (from 0) as arrays: ``.images``, ``.labels``, ``.files``.

        The batch is bit-identical to the batch of the exported script. It is computed in the worker
        process. ``samples`` limits the number of samples. Raises GraphFaultsError if the graph
        cannot run, DataError for data that cannot be used, and PipelineError if DALI fails.

        ::

            images = w.batch(0, samples=4).images
            assert images.shape == (4, 224, 224, 3)
        """
        data = self._live.data_panel.datasets
        batch = run_batch(self.graph, data, number, samples, self._model.engine)
        self._model.follow_files(batch.folder)
        return batch

    @checked()
    def pipeline(self, **options: Any) -> Any:
        """Build the graph as ``nvidia.dali.Pipeline`` in this process, which ends if DALI crashes.

        ``options`` are those of ``build_pipeline`` in the exported script: ``batch_size``,
        ``num_threads``, ``device``, ``seed``. Raises ArgumentError for other options,
        GraphFaultsError if the graph cannot run or a value is out of range, and DataError for data
        that cannot be used.

        ::

            images, labels = w.pipeline(batch_size=4).run()
        """
        data = self._live.data_panel.datasets
        with argument_errors_as("w.pipeline", "build_pipeline"):
            return build_pipeline(self.graph, data, **options)

    @checked(library=TEXT, restart=FLAG)
    def loader(
        self,
        library: str = "torch",
        epochs: int | None = 1,
        restart: bool = False,
        **options: Any,
    ) -> InProcessLoader:
        """Return a loader of batches as ``torch`` tensors, ``jax`` arrays or ``numpy`` arrays.

        ::

            for images, labels in w.loader("torch", epochs=1):
                print(images.shape)

        The loader runs in this process. Each batch is a tuple of the graph's outputs in order. If a
        loop ends before the epoch does, the next loop continues the epoch with a UserWarning,
        unless ``restart`` is True. ``options`` and errors are those of ``pipeline``; also raises
        GraphExportError if the library cannot represent the graph, and ImportError if the library
        is not installed.
        """
        data = self._live.data_panel.datasets
        with argument_errors_as("w.loader", "build_pipeline"):
            return make_loader(self.graph, data, library, epochs, restart, **options)

    @checked(target=TEXT, with_=TEXT)
    def to_code(self, target: str = "script", *, with_: str = "", plain: bool = False) -> str:
        """Return the code for a target and the current data, as the Code panel saves it.

        If the target has several files, this is the main one. ``with_="training"`` adds a training
        loop. ``plain`` omits two comments: the graph, which ``from_file`` reads, and the command
        that finds bad files. ``w.code.source`` is the plain script, with the data as a parameter.

        Raises GraphExportError if the target is unknown or cannot represent the graph.

        ::

            assert "def build_pipeline" in w.to_code()
            print(w.to_code("pytorch"))
        """
        panel = self._model.data_panel
        # None: read here if the panel has not finished counting the data
        facts = panel.facts or None
        made = export(
            self.graph, target, with_=with_, data=panel.datasets, facts=facts, plain=plain
        )
        return made.main.text

    @checked()
    def to_cell(self) -> None:
        """Insert a cell that opens this workbench, and that creates the graph with method calls.

        The calls create the same graph, including ids and seeds. A graph that method calls cannot
        create, such as one with two readers, is written as JSON, with the reason. Raises
        GraphEditError outside of a notebook.

        ::

            if "get_ipython" in globals():
                w.to_cell()
        """
        from IPython.core.getipython import get_ipython

        document = replace(self._model.history.document, graph=self.graph)
        source = cell_source(self._model.data_panel.datasets, document)
        shell = get_ipython()
        if shell is None:
            raise GraphEditError("A cell can only be inserted in a notebook. Use to_code().")
        shell.set_next_input(source)
