"""A package that a function needs is named where it is not installed."""

from __future__ import annotations

import pytest

from workbench.emit.core.code import Code
from workbench.engine.build.function_failure import missing_package_words
from workbench.engine.build.pipelines import CompiledSource
from workbench.errors import PipelineError


def test_it_is_named_with_how_to_get_it() -> None:
    words = missing_package_words(ModuleNotFoundError("no", name="cupy.cuda"))
    assert words == (
        "it needs cupy, which is not installed. Install it (pip install cupy-cuda12x), or mute "
        "the node."
    )
    assert missing_package_words(ImportError("circular")) is None


def test_a_source_that_imports_it_says_so() -> None:
    source = Code("import no_such_package_at_all\n", {"kernel": range(1, 2)})
    with pytest.raises(PipelineError, match="it needs no_such_package_at_all") as told:
        CompiledSource(source)
    assert told.value.node == "kernel"
