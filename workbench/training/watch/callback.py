"""Watch the training loops of Lightning and Hugging Face ``Trainer`` with a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.arguments import FLAG, WHOLE, checked
from workbench.errors import ArgumentError
from workbench.results import record_result
from workbench.training.watch.live import LiveDisplay
from workbench.training.watch.recorder import Plan, Recorder
from workbench.training.watch.report import WatchReport, build_report
from workbench.training.watch.watcher import FEWEST_STEPS

_WHY = (
    "a callback cannot repeat a batch; pass the loader as wb.watch(loader) to the trainer to "
    "measure it"
)


@checked(steps=WHOLE, show=FLAG)
def watch_callback(steps: int = 200, *, show: bool = True) -> WatchCallback:
    """Return a callback that watches the training of Lightning or of Hugging Face ``Trainer``.

    Pass it to their parameter ``callbacks``. After ``steps`` steps the report is shown;
    ``report()`` returns it at any time. A callback cannot repeat a batch, so the ceiling is
    computed from the time of the steps. To measure the ceiling, pass ``wb.watch(loader)`` to
    Lightning's ``trainer.fit``, or return it from ``get_train_dataloader`` of a subclass of
    ``Trainer``.

    ::

        callback = wb.watch_callback(steps=50)
        # trainer = lightning.Trainer(callbacks=[callback])
        # trainer = transformers.Trainer(model, arguments, callbacks=[callback], ...)
        print(callback.report())

    Raises ArgumentError for fewer than 40 steps.
    """
    if steps < FEWEST_STEPS:
        raise ArgumentError(f"watch_callback: steps is {steps}. Use {FEWEST_STEPS} or more.")
    return WatchCallback(steps, show)


class WatchCallback:
    """A callback for Lightning and Hugging Face ``Trainer``, which ``wb.watch_callback`` returns.

    All other callback methods of these libraries do nothing.

    ::

        callback = wb.watch_callback(steps=50)
        assert not callback.finished
    """

    state_key = "WatchCallback"

    def __init__(self, steps: int, show: bool) -> None:
        self._recorder = Recorder(Plan.of(steps, ceiling=False))
        self._display = LiveDisplay(steps, show)
        self._loader: Any = None
        self._report: WatchReport | None = None
        self._in_step = False

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return lambda *args, **options: None
        raise AttributeError(f"WatchCallback has no attribute {name!r}")

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state for Lightning's checkpoints."""
        return {}

    @property
    def finished(self) -> bool:
        """True once all steps have been watched."""
        return self._report is not None

    def report(self) -> WatchReport:
        """Return a report of the steps so far; after the last step, the complete report.

        ::

            print(wb.watch_callback().report())
        """
        return self._report or build_report(self._recorder, self._loader, None, _WHY)

    # Lightning

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        self._start_epoch(module, getattr(trainer, "train_dataloader", None))

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
        self._start_step(batch)

    def on_train_batch_end(self, *args: Any, **options: Any) -> None:
        self._end_step()

    # Hugging Face; its steps have several batches with gradient accumulation

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        self._start_epoch(options.get("model"), options.get("train_dataloader"))

    def on_step_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        self._start_step(None)

    def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        self._end_step()

    def _start_epoch(self, model: Any, loader: Any) -> None:
        if self._report is None:
            self._in_step = False
            self._loader = loader
            self._recorder.models = [] if model is None else [model]
            self._recorder.start_epoch()

    def _start_step(self, batch: Any) -> None:
        if self._report is None:
            self._recorder.record_batch(batch)
            self._in_step = True

    def _end_step(self) -> None:
        if self._report is not None or not self._in_step:
            return
        self._in_step = False
        self._recorder.end_step()
        self._display.update(self._recorder)
        if self._recorder.loader_is_measured:
            self._report = self.report()
            self._recorder.models, self._loader = [], None
            record_result(self._report)
            self._display.show(self._report)
        else:
            self._recorder.record_request()
