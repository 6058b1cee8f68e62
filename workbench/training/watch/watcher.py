"""``wb.watch``: measure a training loop from within, by wrapping its loader."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from workbench.arguments import FLAG, WHOLE, checked
from workbench.errors import ArgumentError
from workbench.results import record_result
from workbench.training.watch import environment
from workbench.training.watch.batches import copy_batch, fingerprint, length_of
from workbench.training.watch.live import LiveDisplay
from workbench.training.watch.recorder import Plan, Recorder, queued_batches
from workbench.training.watch.report import WatchReport, build_report

FEWEST_STEPS = 40
_ATTRIBUTE = "_workbench_watch"
"""Attribute of a loader that stores its watch."""
_MOST_CANDIDATES = 20
"""Maximum number of batches to read until one has the usual size and can be repeated."""


@checked(steps=WHOLE, ceiling=FLAG, show=FLAG)
def watch(
    loader: Any,
    steps: int = 200,
    *,
    ceiling: bool = True,
    model: Any = None,
    restore: Sequence[Any] = (),
    show: bool = True,
) -> Watch:
    """Wrap a loader to measure whether the loader or the model limits the training loop.

    ``loader`` is any iterable of batches: a PyTorch ``DataLoader``, a DALI iterator, a ``tf.data``
    dataset or a generator. Iterate over the result instead of the loader; its attributes and
    ``len`` are those of the loader. After ``steps`` steps, in one or several epochs, the report is
    shown, and the loop continues without overhead. ``report()`` returns it at any time.

    The ceiling, the speed-up if loading took no time, is measured: up to 30 % of the steps repeat a
    batch while the loader is not advanced, after a pause of up to 10 s in which its queue is
    filled. For each repetition, a batch of the loader is read and skipped, so the epoch still has
    ``len(loader)`` steps. If the loader has no ``len``, the repeated steps are additional. With
    ``ceiling=False`` no batch is repeated, and the ceiling is computed from the time of the steps.
    Use this for an evaluation, because a repeated batch changes its result. It is the default if
    torch's gradients are disabled.

    ``restore`` is a list of objects with ``state_dict`` and ``load_state_dict``: all objects that a
    step changes (model, optimizer, scheduler). Their state is copied before the first step on the
    repeated batch and restored after the last one. These steps are then additional, and no batch
    is skipped. ``restore`` cannot be combined with ``ceiling=False``.

    Watching the same loader again, as in a loop over epochs, continues the watch. Running the
    notebook cell again starts a new watch.

    ``model`` is the torch module whose device and values are checked; by default, all modules in
    memory are checked. ``show=False`` does not display the report.

    ::

        def step(batch):
            return np.mean(batch[0])

        watched = wb.watch(wb.loader(graph, "photos", "numpy"), steps=40)
        for batch in watched:
            step(batch)
        print(watched.report())

    Raises ArgumentError if the loader is not iterable or is watched already, for fewer than 40
    steps, for ``restore`` with ``ceiling=False``, and for an object in ``restore`` that lacks these
    methods.
    """
    if isinstance(loader, Watch):
        raise ArgumentError("watch: the loader is watched already. Use its report().")
    is_other = isinstance(loader, str) or hasattr(loader, "at_scope")
    if is_other or not (isinstance(loader, Iterable) or hasattr(loader, "__getitem__")):
        raise ArgumentError(
            f"watch: loader has type {type(loader).__name__}, which yields no batches. Pass "
            "the object that the for loop iterates over."
        )
    if steps < FEWEST_STEPS:
        raise ArgumentError(f"watch: steps is {steps}. Use {FEWEST_STEPS} or more.")
    restored = tuple(restore) if isinstance(restore, list | tuple) else (restore,)
    for each in restored:
        if not hasattr(each, "state_dict") or not hasattr(each, "load_state_dict"):
            raise ArgumentError(
                f"watch: restore contains an object of type {type(each).__name__}. Pass objects "
                "with state_dict and load_state_dict, such as a model and its optimizer."
            )
    if restored and not ceiling:
        raise ArgumentError(
            "watch: restore has no effect with ceiling=False, which repeats no batch. Remove one "
            "of them."
        )
    if model is not None and not hasattr(model, "parameters"):
        raise ArgumentError(
            f"watch: model has type {type(model).__name__}. Pass a torch.nn.Module."
        )
    kind = _SizedWatch if hasattr(loader, "__len__") else Watch
    made = kind(loader, steps, ceiling, model, restored, show)
    attributes = getattr(loader, "__dict__", None)
    known = (attributes or {}).get(_ATTRIBUTE)
    if known is not None and known.key == made.key:
        return known  # type: ignore[no-any-return]
    if isinstance(attributes, dict):
        attributes[_ATTRIBUTE] = made
    return made


class Watch:
    """A watched loader, returned by ``wb.watch``. Iterate over it instead of the loader.

    ::

        watched = wb.watch([np.zeros((8, 3))] * 60, steps=40, show=False)
        assert sum(1 for batch in watched) >= 60 and watched.finished
    """

    def __init__(
        self,
        loader: Any,
        steps: int,
        ceiling: bool,
        model: Any,
        restored: Sequence[Any],
        show: bool,
    ) -> None:
        own = vars(self)  # other attributes are set on the loader
        own["loader"] = loader
        objects = tuple(map(id, (model, *restored)))  # which the loader does not keep alive
        own["key"] = _cell_number(), steps, ceiling, show, objects
        self._recorder = Recorder(Plan.of(steps, ceiling))
        self._recorder.models = [] if model is None else [model]
        self._recorder.queued = queued_batches(loader)
        self._restored = restored
        self._display = LiveDisplay(steps, show)
        self._report: WatchReport | None = None
        self._why_bound = "" if ceiling else "no batch was repeated"
        self._mutates = False
        self._repeated: Any = None

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # while a copy is created
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __repr__(self) -> str:
        return f"<wb.watch of {type(self.loader).__name__}, {self._recorder.count} steps watched>"

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the wrapped loader, such as ``loader.mixup_enabled = False``."""
        if name in _OWN:
            vars(self)[name] = value
        else:
            setattr(self.loader, name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.finished:
            return iter(self.loader)
        return self._watch_steps()

    @property
    def finished(self) -> bool:
        """True once all steps have been watched."""
        return self._report is not None

    def report(self) -> WatchReport:
        """Return a report of the steps so far; after the last step, the complete report.

        ::

            watched = wb.watch([np.zeros((8, 3))] * 60, steps=40, show=False)
            batches = list(watched)
            print(watched.report().ceiling)
        """
        return self._report or self._build_report()

    def _watch_steps(self) -> Iterator[Any]:
        recorder = self._recorder
        recorder.start_epoch()
        iterator = iter(self.loader)
        length = length_of(self.loader) or recorder.epoch_batches
        # Steps that `restore` undoes are additional, so that all batches are trained on.
        replaces = length is not None and not self._restored
        if replaces and recorder.plan.repeated and (length or 0) <= recorder.fewest_left:
            self._why_bound = f"an epoch of {length} batches is too short to repeat one"
        usual = None
        candidates = delivered = 0
        while True:
            recorder.record_request()
            try:
                batch = next(iterator)
            except StopIteration:
                break
            delivered += 1
            saved = None
            left = length - delivered if replaces and length and delivered <= length else None
            most = recorder.repetitions(left)
            before_end = delivered == length - 1 if length else not self._mutates
            if most or recorder.count == 1 or (before_end and not replaces):
                before, saved = fingerprint(batch), copy_batch(batch, self._mutates)
            traces_waits = recorder.traces_waits
            recorder.record_batch(batch)
            with environment.waits_for_gpu(recorder.waits) if traces_waits else nullcontext():
                yield batch
            recorder.end_step()
            self._display.update(recorder)
            if saved is not None:
                self._mutates = self._mutates or fingerprint(batch) != before
                if recorder.last_size_is_usual or usual is None:
                    usual = saved
            candidates += most > 0
            if most and (recorder.last_size_is_usual or candidates == _MOST_CANDIDATES):
                count = yield from self._repeat(usual, most, replaces)
                del batch, saved, usual
                if replaces and self._skip(iterator, count) < count:
                    self._finish()
                else:
                    yield from self._check(iterator)
                return
            if self._why_bound and recorder.loader_is_measured:
                yield from self._check(iterator)
                return
        recorder.epoch_batches = delivered
        if usual is not None and not replaces and recorder.may_repeat_at_end():
            yield from self._repeat(usual, recorder.plan.repeated, replaces)
            self._finish()

    def _repeat(self, batch: Any, most: int, replaces: bool) -> Generator[Any, None, int]:
        """Repeat a batch to measure the ceiling, unless that would disrupt training.

        Returns the number of repetitions.
        """
        recorder = self._recorder
        count = 0
        self._repeated = batch
        self._why_bound = environment.reason_against_repeating(
            self._restored, replaces, recorder.models
        )
        if self._why_bound:
            return count
        if length_of(self.loader) and not replaces:
            self._display.note(
                f"wb.watch now repeats a batch up to {most} times and then restores the state, so "
                f"this epoch has more steps than len(loader), {length_of(self.loader)}. Without "
                "restore=, the repeated batch replaces others."
            )
        saved = [copy.deepcopy(each.state_dict()) for each in self._restored]
        recorder.wait_for_queue()
        try:
            while not recorder.repeated_enough(most):
                recorder.record_request()
                given = copy_batch(batch, self._mutates)
                recorder.record_batch(given, recorder.repeated_phase)
                yield given
                recorder.end_step()
                count += 1
                self._display.update(recorder)
        finally:
            for each, state in zip(self._restored, saved, strict=True):
                each.load_state_dict(state)
        return count

    def _skip(self, iterator: Iterator[Any], count: int) -> int:
        """Read the batches that the repeated batch replaced, so that the epoch keeps its length.

        Returns the number of batches read, which is smaller than ``count`` if the loader ends
        first.
        """
        skipped = sum(1 for _ in itertools.islice(_remaining_batches(iterator), count))
        self._recorder.skipped += skipped
        self._recorder.skip_time()
        return skipped

    def _check(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Watch some steps on more batches, finish the report, and yield the remaining batches."""
        recorder = self._recorder
        while not (self._why_bound or recorder.is_checked):
            recorder.record_request()
            try:
                batch = next(iterator)
            except StopIteration:  # a further next() would start an epoch of DALI's iterators
                self._finish()
                return
            recorder.record_batch(batch, "check")
            yield batch
            recorder.end_step()
            self._display.update(recorder)
        self._finish()
        yield from _remaining_batches(iterator)

    def _finish(self) -> None:
        self._report = self._build_report()
        self._repeated, self._restored, self._recorder.models = None, (), []
        record_result(self._report)
        self._display.show(self._report)

    def _build_report(self) -> WatchReport:
        restored = tuple(type(each).__name__ for each in self._restored)
        return build_report(self._recorder, self.loader, self._repeated, self._why_bound, restored)


_OWN = frozenset(
    ["_recorder", "_restored", "_display", "_report", "_why_bound", "_mutates", "_repeated"]
)  # fmt: skip


def _cell_number() -> int | None:
    """Return the execution count of the notebook's current cell; None outside of IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return None if shell is None else int(shell.execution_count)


def _remaining_batches(iterator: Iterator[Any]) -> Iterator[Any]:
    """Yield the remaining batches without ``iter()``, which would reset a DALI iterator."""
    try:
        while True:
            yield next(iterator)
    except StopIteration:
        return


class _SizedWatch(Watch):
    def __len__(self) -> int:
        return len(self.loader)
