"""The names that `import workbench` exports."""

import inspect
import json
import pydoc
import subprocess
import sys

import workbench as wb

WITHOUT_DALI = """
import json, sys
sys.modules["nvidia.dali"] = None
import workbench as wb
from IPython.core.completer import Completer
print(json.dumps([Completer(namespace={"wb": wb}).attr_matches("wb.rea"), wb.read.__doc__]))
"""


def test_public_names_are_listed_and_can_be_had() -> None:
    """``GROUPS`` of the reference decides which names are public, and lists each of them once."""
    assert dir(wb) == sorted(wb.__all__)
    assert {name for name, _ in inspect.getmembers(wb)} == {*wb.__all__}
    for name in wb.__all__:
        assert getattr(wb, name) is not None


def test_help_of_the_package_is_short() -> None:
    shown = pydoc.render_doc(wb, renderer=pydoc.plaintext)
    assert len(shown.splitlines()) < 80
    assert all(name in shown for name in ("load_recipe, read_graph", "w.stages()", "w.tune()"))


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(wb, "workbench")


def test_names_complete_without_dali() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DALI], capture_output=True, text=True, check=True
    )
    completions, words = json.loads(done.stdout)
    assert completions == ["wb.read", "wb.read_graph"]
    assert words == wb.read.__doc__
