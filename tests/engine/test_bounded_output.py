"""However much a worker prints, its log stays small and ends with what came last."""

from __future__ import annotations

from pathlib import Path

from workbench.engine.run.worker import BoundedOutput


def test_the_file_begins_anew_and_has_what_came_last(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("a") as file:
        output = BoundedOutput(file, limit=100)
        for number in range(1000):
            assert output.write(f"line {number}\n") == len(f"line {number}\n")
        output.flush()  # type: ignore[operator]
        assert path.stat().st_size <= 100
        assert path.read_text().endswith("line 999\n")
        output.write("x" * 1000 + "end")
        output.flush()  # type: ignore[operator]
        assert path.stat().st_size == 100
        assert path.read_text().endswith("xend")
        assert output.fileno() == file.fileno()  # type: ignore[operator]
