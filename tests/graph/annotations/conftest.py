from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.annotations.ramps import write_ramps


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of ramps with boxes in COCO's form: read them, do not change them."""
    return write_ramps(tmp_path_factory.mktemp("coco"))
