"""Shared fixtures, and what each kind of test needs from the machine."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import tempfile
import threading
import zlib
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.forked_workers import ForkedScript, ForkedWorker, ForkServer
from tests.thorough import EXAMPLES, SOAK_EXAMPLES, THOROUGH_EXAMPLES
from workbench.catalog import Catalog, load_catalog
from workbench.engine import Engine
from workbench.engine.protocol import worker_process
from workbench.graph import Graph
from workbench.preview import exported_script
from workbench.samples import PHOTOS, write_samples
from workbench.sources import load_source
from workbench.versions import processes

settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,  # the same examples on every machine
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=THOROUGH_EXAMPLES)
settings.register_profile(
    "soak", settings.get_profile("quick"), derandomize=False, max_examples=SOAK_EXAMPLES
)
settings.load_profile("quick")  # --hypothesis-profile loads another

collect_ignore = ["emit/pipeline_import/pipelines"]
"""Pipelines that tests import; nbmake would run the notebook among them."""
LONGEST_ID = 200
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@cache
def no_gpu() -> str:
    """Why tests marked ``gpu`` cannot run here; empty where they can."""
    try:
        import pynvml
    except ImportError:
        return "" if Path("/dev/nvidia0").exists() else "no NVIDIA GPU: there is no /dev/nvidia0"
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return f"no NVIDIA GPU: {error}"
    return "" if count else "no NVIDIA GPU: the driver lists none"


@cache
def chromium_path() -> str | None:
    """Chromium's path: that of the variable CHROMIUM, else the one on PATH."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, CHROMIUMS)), None)


@cache
def no_chromium() -> str:
    """Why tests marked ``browser`` cannot run here; empty where they can."""
    if chromium_path():
        return ""
    named = os.environ.get("CHROMIUM")
    what = f"CHROMIUM={named} cannot be run" if named else "Chromium is not installed"
    return f"{what}: apt-get install chromium"


NEEDS = {"gpu": no_gpu, "browser": no_chromium}


def share(text: str) -> tuple[int, int]:
    """``K/N`` as two numbers, K from 1 to N. Raises ArgumentTypeError for any other text."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise ArgumentTypeError(f"{text} is not K/N with K from 1 to N, for example 3/7")
    return part, parts


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A long text is named by its length: processes of pytest-xdist send each other the names."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{argname} of {len(val)}"
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files with the current output of the code",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run the tests marked thorough too",
    )
    parser.addoption("--soak", action="store_true", help="run the tests marked soak too")
    parser.addoption(
        "--share",
        type=share,
        metavar="K/N",
        help="run only the K-th of N parts of the tests that are marked thorough or use Hypothesis",
    )


def pytest_configure(config: pytest.Config) -> None:
    """What notebooks and servers that outlive a test keep goes to a folder that ends with them."""
    folder = tempfile.TemporaryDirectory(prefix="workbench-state-")
    os.environ["DALI_WORKBENCH_STATE"] = os.environ["XDG_CACHE_HOME"] = folder.name
    config.add_cleanup(folder.cleanup)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look at it again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """In ``make test`` a module's tests run in one worker, which makes ready for them once.

    Thorough tests are distributed one by one, because some modules have many minutes of them.
    """
    chosen = ("thorough", "share", "soak")
    if config.getoption("dist") != "loadgroup" or any(map(config.getoption, chosen)):
        return None  # pytest-xdist's own
    from tests.module_scheduling import ModuleScheduling

    return ModuleScheduling(config, log)


def outlived() -> str:
    """Which thread outlived the tests; it would keep Python, and so CI, from ending."""
    others = [t for t in threading.enumerate() if t is not threading.main_thread()]
    for thread in (t for t in others if not t.daemon):
        thread.join(timeout=20)
        if thread.is_alive():
            return f"The thread {thread.name} outlived the tests."
    return ""


@pytest.hookimpl(trylast=True)  # when all fixtures have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist notifies its controller, which then fails."""
    told: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if told is not None and (message := outlived()):
        told["shouldfail"] = message


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workeroutput") and (message := outlived()):
        print(f"\n{message}", flush=True)
        os._exit(1)


def in_share(name: str, part: int, parts: int) -> bool:
    """Whether what has this name is in the part of that number; the same on every machine."""
    return zlib.crc32(name.encode()) % parts == part - 1


def missing_packages(notebook: Path) -> list[str]:
    """Packages of the extra ``targets`` that a notebook needs and that are not installed."""
    text = notebook.read_text()
    return [
        name
        for name in ("torch", "ray")
        if re.search(rf'import {name}\b|"{name}\\"', text) and find_spec(name) is None
    ]


def is_selected(item: pytest.Item) -> bool:
    if item.get_closest_marker("soak") is not None and not item.config.getoption("--soak"):
        return False
    thorough = item.get_closest_marker("thorough") is not None
    if chosen := item.config.getoption("--share"):
        more = thorough or is_hypothesis_test(getattr(item, "obj", None))
        group = item.get_closest_marker("xdist_group")
        return more and in_share(group.args[0] if group else item.nodeid, *chosen)
    return not thorough or bool(item.config.getoption("--thorough"))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist writes groups into the ids
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.thorough)
            if missing := missing_packages(item.path):
                reason = f"{', '.join(missing)} is not installed: make targets"
                item.add_marker(pytest.mark.skip(reason=reason))
    selected = [item for item in items if is_selected(item)]
    if len(selected) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not is_selected(item)])
        items[:] = selected
    for item in items:
        for marker, lacking in NEEDS.items():
            if item.get_closest_marker(marker) and (reason := lacking()):
                item.add_marker(pytest.mark.skip(reason=reason))
    longest = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: item.path not in longest)  # no run should end with one of these


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders, one for each test. Pytest would number them too, but lists all others each time."""
    folder = tmp_path_factory.mktemp("states")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_state(states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The autosave folder of this test, separate from other tests and users."""
    folder = next(states)
    folder.mkdir()
    monkeypatch.setenv("DALI_WORKBENCH_STATE", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser. Tests that use it carry ``@pytest.mark.browser``."""
    path = chromium_path()
    assert path, no_chromium()
    return path


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The operators of the installed DALI."""
    return load_catalog()


FORKED: dict[Any, Callable[..., Any]] = {
    worker_process: ForkedWorker,
    exported_script: ForkedScript,
    processes: ForkedScript,
}
"""Modules that start a process, and what they start in tests."""


@pytest.fixture(scope="session", autouse=True)
def _forked_processes() -> Iterator[None]:
    """Where there is no GPU, workers and scripts are forked from one that has imported DALI."""
    if not no_gpu():
        yield  # a process must not be forked once it has to do with CUDA
        return
    server = ForkServer()
    with pytest.MonkeyPatch.context() as patch:
        for module, process in FORKED.items():
            forked = SimpleNamespace(**vars(subprocess))
            forked.Popen = partial(process, server)
            patch.setattr(module, "subprocess", forked)
        yield
    server.close()


@pytest.fixture(scope="module")
def started_workers() -> Iterator[None]:
    """The workers and scripts of this module's tests are started as users' are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in FORKED:
            patch.setattr(module, "subprocess", subprocess)
        yield


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """One worker process for all tests that do not harm it."""
    with Engine() as shared:
        yield shared


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample photos, for all tests together: read them, do not change them."""
    folder = tmp_path_factory.mktemp("photos")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name, photo in PHOTOS.items() if find_spec(photo.package) is None]:
            patch.delitem(PHOTOS, name)  # a machine with scikit-image alone has enough to test on
        write_samples(folder)
    return folder


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample targets, for all tests together: read them, do not change them."""
    folder = tmp_path_factory.mktemp("shapes")
    write_samples(folder, annotations=True)
    return folder


@pytest.fixture(scope="session")
def data_of(photos: Path, request: pytest.FixtureRequest) -> Callable[..., Path]:
    """The samples that a graph is tried on: photos, or of the targets what its source reads."""

    def found(graph: Graph, device: str = "cpu") -> Path:
        sample = load_source(graph.sources[0].kind).sample
        if device == "mixed" and graph.sources[0].kind == "video":
            pytest.skip("the sample clips are motion JPEG, which DALI does not decode on a GPU")
        return request.getfixturevalue("shapes") / sample if sample else photos

    return found


@pytest.fixture(scope="session")
def photos_with_formats(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample photos with the folder ``formats``: read them, do not change them."""
    folder = tmp_path_factory.mktemp("photos_with_formats")
    shutil.copytree(photos, folder, dirs_exist_ok=True)
    write_samples(folder, formats=True)  # adds what is missing
    return folder
