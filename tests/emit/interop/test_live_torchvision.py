"""Compositions of torchvision's own objects, which need torchvision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workbench.emit.interop.graph import from_torchvision

torch: Any = pytest.importorskip("torch")
T: Any = pytest.importorskip("torchvision.transforms")
v2: Any = pytest.importorskip("torchvision.transforms.v2")


class OwnSequential(torch.nn.Sequential):  # type: ignore[misc]
    """A module with its own ``forward``."""

    def forward(self, image: Any) -> Any:
        return super().forward(image).rot90()


def _with(transform: Any, name: str, value: Any) -> Any:
    setattr(transform, name, value)
    return transform


def _hooked(transform: Any, register: str) -> Any:
    getattr(transform, register)(lambda *_: None)
    return transform


OWN_CODE: dict[str, Callable[[], Any]] = {
    "method": lambda: _with(T.RandomHorizontalFlip(1.0), "forward", lambda image: image),
    "parameters": lambda: _with(T.RandomCrop(8), "get_params", lambda *_: (0, 0, 8, 8)),
    "hook": lambda: _hooked(T.Resize((8, 8)), "register_forward_hook"),
    "earlier hook": lambda: _hooked(v2.Resize((8, 8)), "register_forward_pre_hook"),
    "sequential": lambda: OwnSequential(T.Resize((8, 8))),
    "sequential with a hook": lambda: _hooked(
        torch.nn.Sequential(T.Resize((8, 8))), "register_forward_hook"
    ),
}


@pytest.mark.parametrize("name", OWN_CODE)
def test_an_object_with_code_of_its_own_is_refused(name: str) -> None:
    found = from_torchvision(T.Compose([OWN_CODE[name](), T.RandomVerticalFlip(0.5)]))
    assert not found.report.is_exact
    assert "is your own code" in str(found.report)
    assert found.graph.has("flip")
    assert not found.graph.has("resize")


def test_a_sequential_in_a_composition_is_imported() -> None:
    found = from_torchvision(T.Compose([torch.nn.Sequential(T.Resize((8, 8)))]))
    assert found.report.is_exact
    assert found.graph.has("resize")


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (lambda: v2.ToDtype(torch.float32, scale=True), True),
        (lambda: v2.ToDtype(torch.uint8, scale=True), True),
        (lambda: v2.ToDtype({torch.Tensor: torch.float32, "others": torch.float32}, True), True),
        (lambda: v2.ToDtype(torch.float16, scale=True), False),
        (lambda: T.ConvertImageDtype(torch.float32), True),
    ],
)
def test_types_of_torch_are_read(make: Callable[[], Any], exact: bool) -> None:
    report = from_torchvision(v2.Compose([v2.ToImage(), make()])).report
    assert report.is_exact == exact
    assert "TransformCall" not in str(report)
    assert exact or "not float16" in str(report)


def test_uint8_stays_uint8() -> None:
    graph = from_torchvision(v2.ToDtype(torch.uint8, scale=True)).graph
    assert not graph.has("crop_mirror_normalize")
