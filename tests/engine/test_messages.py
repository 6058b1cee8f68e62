"""Errors travel with all that they say."""

from __future__ import annotations

import pytest

from workbench import errors
from workbench.engine.protocol.messages import decode_error, encode_error
from workbench.errors import (
    CancelledError,
    EngineError,
    GraphFaultsError,
    PipelineError,
    WorkbenchError,
    WorkerCrashedError,
    WorkerTimeoutError,
)
from workbench.graph.model.faults import Fault

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, WorkbenchError)
]
FAULTS = [
    Fault("rotate", "angle", "is 'x'", "Give a number.", "value", "x"),
    Fault("", "", "no reader", ""),
]


def there_and_back(error: WorkbenchError) -> WorkbenchError:
    name, data = encode_error(error)
    return decode_error(name, memoryview(data))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error(kind: type[WorkbenchError]) -> None:
    error = GraphFaultsError(FAULTS) if kind is GraphFaultsError else kind("what, \udcff and why")
    found = there_and_back(error)
    assert type(found) is kind
    assert str(found) == str(error)
    assert vars(found) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        PipelineError("no", "rotate"),
        WorkerTimeoutError("late", ["a", "b"]),
        WorkerCrashedError("ended", ("a",), killed=True),
        GraphFaultsError(FAULTS),
    ],
)
def test_what_an_error_knows(error: WorkbenchError) -> None:
    found = there_and_back(error)
    assert vars(found) == vars(error)
    assert str(found) == str(error)


def test_faults_keep_what_their_remedies_need() -> None:
    found = there_and_back(GraphFaultsError(FAULTS))
    assert isinstance(found, GraphFaultsError)
    assert [(f.code, f.about) for f in found.faults] == [("value", "x"), ("", "")]


def test_an_error_of_another_module_comes_as_its_base() -> None:
    class NoCounterpartError(EngineError):
        pass

    found = there_and_back(NoCounterpartError("other work"))
    assert type(found) is EngineError
    assert str(found) == "other work"


@pytest.mark.parametrize("name", ["SystemExit", "Sequence", "annotations", "", "__name__"])
def test_other_names_make_nothing(name: str) -> None:
    _, data = encode_error(CancelledError("x"))
    with pytest.raises(ValueError, match="is no error of the workbench"):
        decode_error(name, memoryview(data))
