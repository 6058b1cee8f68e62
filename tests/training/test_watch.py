"""``wb.watch``: what a loop receives, and loops that end, fail, change or are interrupted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.training.virtual_loops import VirtualTime, run, steady
from workbench.errors import ArgumentError
from workbench.results import load_result, recorded_results
from workbench.training.watch import watcher


def batches(count: int, size: int = 4) -> list[dict[str, Any]]:
    return [{"images": np.full((size, 3), number)} for number in range(count)]


def number_of(batch: dict[str, Any]) -> int:
    return int(batch["images"][0, 0])


class Loader:
    """A loader with a length and attributes."""

    sampler = "shuffled"

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(batches(self.count))


def watched_numbers(time: VirtualTime, loader: Any, **options: Any) -> tuple[list[int], str]:
    """The batches' numbers in a watched loop, and its report."""
    watched, seen = wb.watch(loader, show=False, **options), []
    for batch in watched:
        seen.append(number_of(batch))
        time.sleep(0.01)
    return seen, str(watched.report())


def test_the_repeated_batch_replaces_others_so_the_epoch_keeps_its_length(
    time: VirtualTime,
) -> None:
    """Scripts such as timm's fail in a step beyond ``len(loader)``."""
    seen, report = watched_numbers(time, batches(300))
    assert len(seen) == 300
    repeated = max(seen.count(number) for number in seen) - 1
    assert 12 < repeated <= 60
    first = seen.index(max(seen, key=seen.count))
    assert seen[: first + 1] == list(range(first + 1))
    assert seen[first + repeated + 1 :] == list(range(first + repeated + 1, 300))
    assert f"{repeated} steps used one repeated batch in place of {repeated} others" in report


def test_without_len_all_batches_are_delivered_and_one_is_repeated(time: VirtualTime) -> None:
    seen, report = watched_numbers(time, iter(batches(300)))
    assert [number for number, _ in itertools.groupby(seen)] == list(range(300))
    assert f"{len(seen) - 300} additional steps used one repeated batch" in report


def test_without_ceiling_no_batch_is_repeated(time: VirtualTime) -> None:
    watched = wb.watch(time.loader(batches(300), steady(0.01)), ceiling=False, show=False)
    seen = []
    for batch in watched:
        seen.append(number_of(batch))
        time.sleep(0.02)
    assert seen == list(range(300))
    report = watched.report()
    assert report.ceiling == pytest.approx(1.5)
    assert "computed from the time of the steps: no batch was repeated" in str(report)


def test_a_watched_loader_has_the_length_and_attributes_of_the_loader() -> None:
    watched = wb.watch(Loader(7), show=False)
    assert len(watched) == 7
    assert watched.sampler == "shuffled"
    with pytest.raises(AttributeError):
        _ = watched.unknown
    assert not hasattr(wb.watch(iter([])), "__len__")
    watched.mixup_enabled = False  # as timm's script
    assert watched.loader.mixup_enabled is False


def test_a_loop_over_epochs_may_watch_the_loader_in_each(
    time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = Loader(150)
    epochs = [sum(1 for _ in _sleeping(wb.watch(loader, show=False), time)) for _ in range(3)]
    assert epochs == [150, 150, 150]
    done = wb.watch(loader, show=False)
    assert done.finished
    assert wb.watch(loader, steps=50, show=False) is not done
    first = wb.watch(loader, show=False)
    monkeypatch.setattr(watcher, "_cell_number", lambda: 7)
    assert wb.watch(loader, show=False) is not first


@pytest.mark.parametrize(("length", "stated"), [(300, 300), (90, 90), (90, 120)])
def test_an_iterator_that_iter_resets_is_requested_once_per_epoch(
    time: VirtualTime, length: int, stated: int
) -> None:
    """As DALI's iterators, which are loaders and iterators at once."""

    class ResettingIterator:
        resets = count = 0

        def __len__(self) -> int:
            return stated

        def __iter__(self) -> ResettingIterator:
            self.resets += 1
            return self

        def __next__(self) -> int:
            self.count += 1
            if self.count % (length + 1) == 0:
                raise StopIteration
            return self.count

    loader = ResettingIterator()
    watched = wb.watch(loader, show=False)
    for epoch in range(1, 4):
        run(watched, time, steady(0.01))
        assert loader.count == epoch * (length + 1)
    assert watched.finished
    assert loader.resets == 3


def test_the_steps_of_short_epochs_are_watched_together(time: VirtualTime) -> None:
    watched = wb.watch(Loader(15), steps=100, show=False)
    assert [sum(1 for _ in _sleeping(watched, time)) for _ in range(12)] == [15] * 12
    assert watched.finished
    firsts = [each for each in watched.report().steps if each.first]
    assert len(firsts) > 1
    assert watched.report().batches == 15
    assert "an epoch of 15 batches is too short to repeat one" in str(watched.report())


def _sleeping(loader: Any, time: VirtualTime) -> Iterator[Any]:
    for batch in loader:
        time.sleep(0.01)
        yield batch


def test_the_repeated_batch_has_the_usual_size_at_the_end_of_an_epoch(time: VirtualTime) -> None:
    data = iter([*batches(59), *batches(1, size=1)])
    watched = wb.watch(data, steps=200, show=False)
    sizes = [len(batch["images"]) for batch in _sleeping(watched, time)]
    assert sizes[59] == 1
    assert set(sizes[60:]) == {4}
    assert "There were no check steps, so whether the machine's speed" in str(watched.report())


@pytest.mark.parametrize("length", [27, 60, 100, 125])
def test_all_kinds_of_steps_fit_into_short_epochs(
    time: VirtualTime, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    watched = wb.watch(batches(length))
    while not watched.finished:
        assert sum(1 for _ in _sleeping(watched, time)) == length
    phases = [each.phase for each in watched.report().steps]
    assert phases[-1] == "check"
    assert phases.count("repeated") >= 12
    assert watched.report().times.checked
    printed = capsys.readouterr().out
    assert printed.count("Training loop") == 1
    assert f" {phases.count('check')} check)" in printed


def test_slower_steps_on_new_batches_are_explained_by_the_kind_of_loader(
    time: VirtualTime,
) -> None:
    texts = []
    for workers in (0, 2):
        loader = Loader(300)
        loader.num_workers = workers  # type: ignore[attr-defined]
        watched, seen = wb.watch(loader, show=False), -1
        for batch in watched:
            time.sleep(0.01 if number_of(batch) == seen else 0.03)
            seen = number_of(batch)
        texts.append(str(watched.report()))
    assert "because a step took 30 ms on new batches and 10 ms on a repeated one" in texts[0]
    assert "3.00 times as long on new batches as on a repeated one. The loader" in texts[1]
    assert ["compete" in text for text in texts] == [False, True]


@pytest.mark.parametrize(("module", "workers", "words"), [
    ("torch.utils.data", 0, "pass a larger num_workers: it is 0"),
    ("torch.utils.data", 999, "More workers will hardly help: num_workers is 999"),
    ("nvidia.dali.plugin", None, "import its pipeline with wb.from_file"),
    ("workbench.engine.build.in_process_loader", None, "call report.measure_fix()"),
    ("tensorflow.data", None, "prefetch(tf.data.AUTOTUNE)"),
    ("mine", None, "in threads or processes that work ahead"),
])  # fmt: skip
def test_a_slow_loader_has_a_remedy_of_its_kind(
    time: VirtualTime, module: str, workers: int | None, words: str
) -> None:
    made: Any = type("Made", (), {"__module__": module, "num_workers": workers})()
    type(made).__iter__ = lambda self: time.loader(range(100), steady(0.03))
    watched = wb.watch(made, steps=60, ceiling=False, show=False)
    run(watched, time, steady(0.01))
    assert words in str(watched.report())


def test_after_the_watch_the_iterator_is_that_of_the_loader(time: VirtualTime) -> None:
    data = batches(100)
    watched = wb.watch(data, steps=40, show=False)
    run(watched, time, steady(0.01))
    assert type(iter(watched)) is type(iter(data))


def test_changes_of_a_batch_by_the_loop_do_not_reach_the_next_step(time: VirtualTime) -> None:
    watched = wb.watch(batches(80), steps=60, show=False)
    for batch in watched:
        images = batch.pop("images")
        assert (images == images[0, 0]).all()
        assert images[0, 0] < 1000
        images += 1000
        time.sleep(0.01)
    assert watched.finished


class State:
    """A model, optimizer or scheduler, as far as ``restore`` uses it."""

    def __init__(self) -> None:
        self.steps = [0]

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]


def test_restore_undoes_the_steps_on_the_repeated_batch(time: VirtualTime) -> None:
    state = State()
    watched = wb.watch(batches(100), steps=60, restore=[state], show=False)
    for _ in watched:
        state.steps[0] += 1
        time.sleep(0.01)
    assert state.steps == [100]
    assert "The state of State is restored after them." in str(watched.report())


def test_an_endless_loader_is_watched(time: VirtualTime) -> None:
    endless = ({"images": np.zeros((2, 3))} for _ in itertools.count())
    watched = wb.watch(endless, steps=60, show=False)
    for count, _ in enumerate(watched):
        time.sleep(0.01)
        if count == 200:
            break
    assert watched.finished
    assert watched.report().batches is None


def test_a_loop_that_ends_early_has_a_report_of_what_was_measured(time: VirtualTime) -> None:
    watched = wb.watch(time.loader(range(20), steady(0.01)), show=False)
    assert "There is no verdict: no step was watched" in str(watched.report())
    run(watched, time, steady(0.01))
    assert not watched.finished
    assert watched.report().ceiling == pytest.approx(2.0)
    assert "has not reached the steps on a repeated batch" in str(watched.report())
    assert run(wb.watch([1], show=False), time, steady(1)) == 1


def test_an_empty_loader_ends_at_once() -> None:
    assert list(wb.watch([], show=False)) == []


def test_an_error_of_the_loader_is_raised_unchanged(time: VirtualTime) -> None:
    fault = OSError("disk")

    def failing() -> Iterator[int]:
        yield from range(30)
        raise fault

    watched = wb.watch(failing(), show=False)
    with pytest.raises(OSError, match="disk") as raised:
        run(watched, time, steady(0.01))
    assert raised.value is fault
    assert len(watched.report().steps) == 30


@pytest.mark.parametrize("at", [30, 150])
def test_an_interrupted_loop_keeps_what_was_measured(time: VirtualTime, at: int) -> None:
    """Also among the repeated batches."""
    watched = wb.watch(batches(300), show=False)

    def loop() -> None:
        for count, _ in enumerate(watched):
            time.sleep(0.01)
            if count == at:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop()
    assert len(watched.report().steps) in (at, at + 1)
    assert watched.report().times is not None
    run(watched, time, steady(0.01))  # and it can be continued
    assert watched.finished


def test_batches_of_changing_size_and_kind_are_reported(time: VirtualTime) -> None:
    data = [
        np.zeros((1 + number % 5, 3), np.float32 if number % 2 else int) for number in range(99)
    ]
    watched = wb.watch(data, steps=60, show=False)
    run(watched, time, steady(0.01))
    text = str(watched.report())
    assert "The batches have 1 to 5 samples" in text
    assert "The batches are of 2 kinds" in text


@pytest.mark.parametrize(("batch", "count"), [
    ([np.zeros((8, 3, 4, 4)), np.zeros(8)], 8),
    ((np.zeros((3, 5, 4)), np.zeros((3, 6, 4))), 2),
    ({"name": "x", "images": np.zeros((6, 2))}, 6),
    ([{"data": np.zeros((4, 2))}, {"data": np.zeros((3, 2))}], 7),
    (["a", "b"], None),
    (np.float32(3), None),
])  # fmt: skip
def test_samples_of_a_batch_are_counted(batch: Any, count: int | None) -> None:
    from workbench.training.watch.batches import sample_count

    assert sample_count(batch) == count


@pytest.mark.parametrize(("call", "words"), [
    (lambda: wb.watch(wb.watch([])), "is watched already"),
    (lambda: wb.watch("photos"), "loader has type str, which yields no batches"),
    (lambda: wb.watch(3), "loader has type int, which yields no batches"),
    (lambda: wb.watch([], steps=3), "steps is 3. Use 40 or more"),
    (lambda: wb.watch([], steps="many"), "steps is 'many'"),
    (lambda: wb.watch([], restore=[3]), "restore contains an object of type int"),
    (lambda: wb.watch([], restore=[State()], ceiling=False), "restore has no effect"),
    (lambda: wb.watch([], model="x"), "model has type str. Pass a torch.nn.Module"),
    (lambda: wb.watch_callback(steps=1), "steps is 1"),
    (lambda: wb.watch([]).report().measure_fix(), "the loader has type list"),
])  # fmt: skip
def test_invalid_arguments(call: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()


def test_a_watched_loop_inside_a_watched_loop(time: VirtualTime) -> None:
    outer = wb.watch(batches(100), steps=60, show=False)
    inner = wb.watch(Loader(5), steps=60, show=False)
    for _ in outer:
        run(inner, time, steady(0.01))
    assert outer.finished
    assert inner.finished


def test_the_report_is_printed_once_and_recorded(
    time: VirtualTime, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = wb.watch(batches(100), steps=60, restore=[State()])
    run(watched, time, steady(0.01))
    printed = capsys.readouterr().out
    assert printed.count("The model is the limit") == 1
    assert "this epoch has more steps than len(loader), 100" in printed
    assert recorded_results()[-1] == watched.report().document()


def test_a_notebook_shows_a_line_that_the_report_replaces(
    time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    import IPython

    from workbench.training.watch import live

    shown: list[Any] = []

    class Handle:
        def update(self, value: Any) -> None:
            shown.append(value)

    def display(value: Any, display_id: bool = False) -> Handle:
        shown.append(value)
        return Handle()

    monkeypatch.setattr(live, "_has_kernel", lambda: True)
    monkeypatch.setattr(live, "_SECONDS", 0)
    monkeypatch.setattr(IPython.display, "display", display)
    watched = wb.watch(batches(100), steps=60)
    run(watched, time, steady(0.01))
    assert "Watched 1 of at most 60 steps" in repr(shown[0])
    assert shown[-1] is watched.report()


def test_the_report_as_frame_figure_and_file(time: VirtualTime, tmp_path: Any) -> None:
    watched = wb.watch(time.loader(batches(100), steady(0.01)), steps=60, show=False)
    run(watched, time, steady(0.03))
    report = watched.report()
    frame = report.to_frame()
    assert frame["ms per step"].round().tolist() == [10, 30, 40, 30]
    assert report.plot().axes
    assert load_result(report.save(tmp_path / "watch.json")) == report.document()


def test_lightning_and_hugging_face_call_the_callback(time: VirtualTime) -> None:
    lightning, hugging_face = (wb.watch_callback(steps=40, show=False) for _ in range(2))
    lightning.setup(None, None, stage="fit")
    lightning.on_train_epoch_start(None, None)
    hugging_face.on_epoch_begin(None, None, None, model=None, train_dataloader=Loader(50))
    for number in range(50):
        time.sleep(0.01)
        lightning.on_train_batch_start(None, None, batches(1)[0], number)
        hugging_face.on_step_begin(None, None, None)
        time.sleep(0.03)
        hugging_face.on_step_end(None, None, None)
        lightning.on_train_batch_end(None, None, None, batches(1)[0], number)
    for callback in (lightning, hugging_face):
        assert callback.finished
        assert callback.report().ceiling == pytest.approx(4 / 3)
        assert "a callback cannot repeat a batch" in str(callback.report())
    assert "samples/s" in str(lightning.report())
    assert not hasattr(lightning, "other")
