from pathlib import Path

import pytest

from workbench.errors import SaveError
from workbench.ui.output_paths import writable_path


def test_a_notebook_writes_where_it_may() -> None:
    assert writable_path("out/pipe", ".py", confined=False) == Path("out/pipe.py")
    assert writable_path("~/x.py", ".py", confined=False) == Path("~/x.py").expanduser()


@pytest.mark.parametrize("name", ["pipe.py", "pipe", "my pipe-2.py", "größe.py"])
def test_the_web_app_writes_plain_names(name: str) -> None:
    path = writable_path(name, ".py", confined=True)
    assert path == Path(path.name)
    assert path.suffix == ".py"


@pytest.mark.parametrize(
    "name",
    [
        "../pipe.py", "/etc/pipe.py", "a/b.py", "..", ".bashrc", ".hidden.py", "setup.cfg",
        "~/x.py", "pipe.py\n", "", "  ", "a\0.py", "pipe.json", "a\\..\\b.py", "x.py/..",
    ],
)  # fmt: skip
def test_the_web_app_writes_nothing_else(name: str) -> None:
    if name == "pipe.py\n":
        assert writable_path(name, ".py", confined=True) == Path("pipe.py")
        return
    with pytest.raises(SaveError):
        writable_path(name, ".py", confined=True)
