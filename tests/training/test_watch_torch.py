"""``wb.watch`` of training with torch, and with an imitation of its CUDA."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.training.virtual_loops import VirtualTime, run, steady
from workbench.training.watch import clock, environment

torch: Any = pytest.importorskip("torch")


@pytest.fixture
def batches() -> list[Any]:
    return [(torch.full((4, 3), float(number)), torch.zeros(4)) for number in range(100)]


def test_a_model_with_nan_is_reported(time: VirtualTime, batches: list[Any]) -> None:
    model = torch.nn.Linear(3, 1)
    watched = wb.watch(batches, steps=60, model=model, show=False)
    run(watched, time, steady(0.01))
    assert "NaN" not in str(watched.report())
    torch.nn.init.constant_(model.bias, float("nan"))
    watched = wb.watch(batches, steps=60, model=model, show=False)
    run(watched, time, steady(0.01))
    assert "parameters that are NaN or infinite" in str(watched.report())
    assert watched.report().limit == "model"


def test_a_finished_watch_does_not_keep_the_model_alive(time: VirtualTime) -> None:
    model = torch.nn.Linear(3, 1)
    loader = torch.utils.data.DataLoader(range(100))
    run(wb.watch(loader, steps=60, restore=[model], show=False), time, steady(0.01))
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_a_scheduler_with_a_number_of_steps_is_not_exceeded(
    time: VirtualTime, batches: list[Any]
) -> None:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=100)
    watched = wb.watch(iter(batches), steps=60, show=False)
    for _ in watched:
        optimizer.step()
        scheduler.step()
        time.sleep(0.01)
    assert "OneCycleLR" in str(watched.report())
    restored = [model, optimizer, scheduler]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    restored[1:] = [
        optimizer,
        scheduler := torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=101),
    ]
    watched = wb.watch(batches, steps=60, restore=restored, show=False)
    for _ in watched:
        optimizer.step()
        scheduler.step()
        time.sleep(0.01)
    assert scheduler.last_epoch == 100
    assert "additional steps" in str(watched.report())


def test_a_tensor_changed_in_place_is_copied_for_each_repetition(
    time: VirtualTime, batches: list[Any]
) -> None:
    watched = wb.watch(batches, steps=60, show=False)
    for images, _ in watched:
        assert float(images[0, 0]) < 1000
        images.add_(1000)
        time.sleep(0.01)
    assert watched.finished


def test_the_largest_model_in_memory_is_found() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2000, 2000), torch.nn.Linear(2000, 1))
    assert environment.models_in_memory()[0] is model


class Cuda:
    """An imitation of ``torch.cuda`` whose GPU works for a while after each step."""

    def __init__(self, time: VirtualTime) -> None:
        self.time = time
        self.busy_until = 0.0
        self.mode = 0

    def is_initialized(self) -> bool:
        return True

    def current_stream(self, device: str) -> Any:
        return SimpleNamespace(synchronize=self.synchronize)

    def synchronize(self) -> None:
        self.time.now = max(self.time.now, self.busy_until)

    def work(self, seconds: float) -> None:
        """Queue work, which the host may submit 0.1 s ahead."""
        self.time.now = max(self.time.now, self.busy_until - 0.1)
        self.busy_until = max(self.busy_until, self.time.now) + seconds

    def get_sync_debug_mode(self) -> int:
        return self.mode

    def set_sync_debug_mode(self, mode: Any) -> None:
        self.mode = {"warn": 1}.get(mode, mode)

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802  # torch's name
        cuda = self

        class Event:
            at = 0.0

            def record(self, stream: Any) -> None:
                self.at = max(cuda.time.now, cuda.busy_until)

            def elapsed_time(self, other: Any) -> float:
                return 1000 * (other.at - self.at)

        return Event()

    def warn(self) -> None:
        """What torch does in ``.item()``."""
        self.synchronize()
        if self.mode:
            warnings.warn("called a synchronizing CUDA operation", UserWarning, stacklevel=2)


@pytest.fixture
def cuda(time: VirtualTime, monkeypatch: pytest.MonkeyPatch) -> Cuda:
    made = Cuda(time)
    imitation = SimpleNamespace(cuda=made, Tensor=torch.Tensor)
    monkeypatch.setattr(environment, "torch_module", lambda: imitation)
    monkeypatch.setattr(clock, "sys", SimpleNamespace(modules={"torch": imitation}))
    monkeypatch.setattr(environment, "devices_of_models", lambda models: ["cuda:0"])
    monkeypatch.setattr(environment, "models_in_memory", lambda: [object()])
    monkeypatch.setattr(environment, "reason_against_repeating", lambda *_: "")
    monkeypatch.setattr(environment, "is_finite", lambda models: True)
    monkeypatch.setattr(environment, "seconds_to_copy", lambda batch, device: 0.004)
    use = SimpleNamespace(use=lambda: SimpleNamespace(gpu=77))
    monkeypatch.setattr(environment, "gpu_of", lambda device: use)
    return made


@pytest.mark.parametrize(("data", "gpu", "ceiling"), [(0.03, 0.01, 3.0), (0.005, 0.02, 1.0)])
def test_the_time_of_the_gpu_counts_though_steps_return_before_it_ends(
    time: VirtualTime, cuda: Cuda, batches: list[Any], data: float, gpu: float, ceiling: float
) -> None:
    watched = wb.watch(time.loader(batches, steady(data), queue=2), steps=80, show=False)
    for _ in watched:
        time.sleep(0.001)
        cuda.work(gpu)
    report = watched.report()
    assert report.ceiling == pytest.approx(ceiling, rel=0.03)
    assert report.times.step.value == pytest.approx(gpu, rel=0.15)
    rows = dict(zip(*(report.to_frame()[name] for name in ("part", "ms per step")), strict=True))
    assert rows["copying the batch to cuda:0, a part of the step"] == pytest.approx(4)
    assert ("Copying a batch to cuda:0 takes 4 ms" in str(report)) == (0.05 * gpu < 0.004)
    assert rows["GPU utilisation in percent, loader"] == 77


def test_lines_that_wait_for_the_gpu_are_named(
    time: VirtualTime, cuda: Cuda, batches: list[Any]
) -> None:
    watched = wb.watch(batches, steps=60, show=False)

    def loop() -> None:
        for count, _ in enumerate(watched):
            cuda.work(0.01)
            cuda.warn()  # the line
            if count == 1:
                warnings.warn("of the user", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="of the user"):
        loop()
    assert cuda.mode == 0
    assert "cuda.warn()  # the line" in str(watched.report())


def test_batches_and_pipelines_on_another_gpu_are_reported(
    time: VirtualTime, cuda: Cuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = SimpleNamespace(shape=(4, 3), is_cuda=True, device="cuda:1")
    watched = wb.watch([there] * 100, steps=60, show=False)
    run(watched, time, steady(0.01))
    assert "The batches are on cuda:1, but the model is on cuda:0" in str(watched.report())

    class Loader(list[Any]):
        _pipes = None

    loader = Loader(range(100))
    loader._pipes = [SimpleNamespace(device_id=3)]
    watched = wb.watch(loader, steps=60, show=False)
    run(watched, time, steady(0.01))
    assert "The pipeline runs on GPU 3, but the model is on cuda:0" in str(watched.report())


def test_processes_that_train_together_do_not_repeat_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distributed = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 4
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    assert "4 processes train together" in environment.reason_against_repeating((), True)


def test_lightning_trains_with_the_callback_and_with_a_watched_loader(batches: list[Any]) -> None:
    lightning: Any = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layer(batch[0]).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 1e-6)

    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    callback = wb.watch_callback(steps=60, show=False)
    watched = wb.watch(torch.utils.data.DataLoader(batches, batch_size=None), steps=60, show=False)
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", callbacks=[callback], **quiet)
    trainer.fit(Module(), watched)
    assert callback.finished
    assert callback.report().times is not None
    assert watched.finished
    assert watched.report().times.measured


@pytest.mark.gpu
def test_training_on_a_gpu_is_measured_with_events() -> None:
    """A slow and a fast loader; the line that waits; batches and model on the same GPU."""
    import time

    if not torch.cuda.is_available():
        pytest.skip("this build of torch has no CUDA")
    model = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    batch = torch.rand(2048, 4096).pin_memory()

    def loop(seconds: float) -> wb.WatchReport:
        def loader() -> Any:
            for _ in range(120):
                time.sleep(seconds)
                yield batch

        watched = wb.watch(loader(), steps=80, model=model, show=False)
        for images in watched:
            optimizer.zero_grad()
            loss = model(images.cuda(non_blocking=True)).square().mean()
            loss.backward()
            optimizer.step()
            loss.item()  # the line
        return watched.report()

    slow, fast = loop(0.1), loop(0)
    assert slow.limit == "loader", str(slow)
    assert fast.limit == "model", str(fast)
    assert slow.ceiling == pytest.approx(1 + 0.1 / slow.times.free.value, rel=0.1)
    assert "loss.item()  # the line" in str(slow)
    assert slow.device == "cuda:0"
    assert slow.copy_seconds is not None
    assert "NaN" not in str(slow)


def test_an_evaluation_repeats_no_batch(time: VirtualTime, batches: list[Any]) -> None:
    seen = []
    with torch.no_grad():
        watched = wb.watch(batches * 20, show=False)
        for batch in watched:
            time.sleep(0.01)
            seen.append(id(batch))
    assert len(seen) == len(batches) * 20
    assert "the loop evaluates a model, and a repeated batch would change" in str(watched.report())
    assert watched.report().ceiling == pytest.approx(1, rel=0.05)
