"""What decoders say of files: DALI as a script reads them, and OpenCV with what it prints.

Run as a program: paths on standard input, one JSON object a line on standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def judged(paths: list[str]) -> dict[str, dict[str, str]]:
    """For each path why DALI refuses it and what OpenCV says of it, or empty texts."""
    found: dict[str, dict[str, str]] = {}
    while rest := paths[len(found) :]:
        program = subprocess.run(
            [sys.executable, __file__],
            input="\n".join(rest),
            capture_output=True,
            text=True,
        )
        for line in program.stdout.splitlines():
            one = json.loads(line)
            found[one.pop("path")] = one
        if program.returncode:
            found[paths[len(found)]] = {"dali": "it ended the process", "opencv": ""}
    return found


def dali_refusal(path: str, folder: str) -> str:
    from nvidia.dali import fn, pipeline_def

    def read() -> Any:
        encoded, _ = fn.readers.file(file_list=str(listed))
        return fn.decoders.image(encoded)

    listed = Path(folder, "list.txt")
    listed.write_text(f"{path} 0\n")
    pipe = pipeline_def(read)(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    try:
        pipe.build()
        pipe.run()
    except RuntimeError as error:
        return str(error).rpartition("encountered:")[2].strip()[:200]
    return ""


def opencv_words(path: str, printed: int) -> str:
    import cv2
    import numpy as np

    os.ftruncate(printed, 0)
    os.lseek(printed, 0, os.SEEK_SET)
    try:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        return str(error)
    words = os.pread(printed, 4096, 0).decode(errors="replace").strip("\0\n ")
    return words or ("" if image is not None else "no image")


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryDirectory() as folder:
        os.dup2(printed.fileno(), 2)
        for path in sys.stdin.read().splitlines():
            dali = dali_refusal(path, folder)
            opencv = "" if dali else opencv_words(path, printed.fileno())
            one = {"path": path, "dali": dali, "opencv": opencv}
            print(json.dumps(one), file=answers, flush=True)


if __name__ == "__main__":
    main()
