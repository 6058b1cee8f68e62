"""Harmful scripts that a user might import. ``{pids}`` is a file for process ids."""

from __future__ import annotations

GOOD = """\
from nvidia.dali import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=3)
def good(data="photos"):
    jpegs, labels = fn.readers.file(file_root=data, seed=4)
    images = fn.decoders.image(jpegs)
    return fn.resize(images, size=[64, 64]), labels
"""

ENDLESS = {
    "loops": ("while True: pass\n", 1),
    "sleeps": ("import time\ntime.sleep(100_000)\n", 2),
    "loops in the pipeline": (GOOD.replace("    jpegs,", "    while True: pass\n    jpegs,"), 5),
    "deaf to signals": (
        "import signal\n"
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "while True: pass\n",
        4,
    ),
    "catches all": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
        3,
    ),
    "waits for a thread": (
        f"{GOOD}\nimport threading\nthreading.Thread(target=threading.Event().wait).start()\n"
        "threading.Event().wait()\n",
        11,
    ),
}
"""Scripts that never end, and the line, from 1, at which each hangs."""

ENDING = {
    "os._exit(0)": "import os\nos._exit(0)\n",
    "os._exit(3)": "import os\nos._exit(3)\n",
    "abort": "import os\nos.abort()\n",
    "kill": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "segfault": "import ctypes\nctypes.string_at(0)\n",
    "closes all files": "import os\nos.closerange(0, 4096)\n",
}
"""These end the process in which they run, or cut it off."""

RAISING = {
    "at the top": ("\n\nraise ValueError('seven is not eight')\n", 3, "seven is not eight"),
    "in a function": ("def deep():\n    return {}['missing']\n\n\ndeep()\n", 2, "missing"),
    "in the pipeline": (
        GOOD.replace("    images =", "    raise RuntimeError('no decoder today')\n    images ="),
        6,
        "no decoder today",
    ),
    "an argument that DALI has not": (GOOD.replace("size=[64", "sise=[64"), 7, "sise"),
    "endless recursion": ("def again():\n    again()\n\n\nagain()\n", 2, "recursion"),
    "a syntax error": ("x = 1\ndef broken(:\n    pass\n", 2, "Syntax"),
    "an indent": ("def f():\n        a = 1\n    b = 2\n", 3, "ndent"),
    "a null byte": ("x = 1\ny = '\0'\n", 0, "it is not UTF-8 text. Save it"),
    "exits": ("import sys\nsys.exit()\n", 2, "SystemExit"),
    "exits with words": ("import sys\nsys.exit('bye for now')\n", 2, "bye for now"),
    "interrupts": ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
    "forks": ("import os\nos.fork()\n", 2, "fork"),
    "forks for workers": (
        "import multiprocessing\n"
        "work = multiprocessing.get_context('fork').Process(target=print)\n"
        "work.start()\n",
        3,
        "fork",
    ),
    "a message of megabytes": ("raise ValueError('x' * 50_000_000)\n", 1, "xxx"),
    "an error that cannot be shown": (
        "class Bad(Exception):\n    def __str__(self): raise RuntimeError('no text')\nraise Bad\n",
        3,
        "Bad",
    ),
}
"""Script -> the line (from 1; 0 for none) that the message names, and a word in it."""

NO_PIPELINE = {
    "nothing": "x = 1\n",
    "empty": "",
    "a missing package": "import no_such_package_at_all\n",
    "wants a command line": "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('data')\nargs = parser.parse_args()\n",
    "only functions": "def f(data):\n    return data\n",
    "a name that is no pipeline": "class Pipeline:\n    pass\n\npipe = Pipeline()\n",
}

LEAVING = """\
import subprocess, sys, threading
for new in (False, True):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100_000)"],
                     start_new_session=new)
"""
"""Starts a process that outlives it, and one in a session of its own."""

HIDING = """\
import os, subprocess, sys
later = "import time; time.sleep(100_000)"
first = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {later!r}])"
child = subprocess.Popen([sys.executable, "-c", first], env={}, start_new_session=True)
if child.wait():
    os._exit(3)
"""
"""Leaves a process without environment and parent, in a session of its own."""

SECOND = """
@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=3)
def second(data="photos"):
    jpegs, labels = fn.readers.file(file_root=data, seed=4)
    return fn.decoders.image(jpegs), labels
"""
TWO = GOOD + SECOND

NEEDY = GOOD.replace('data="photos"', "data, size, *, scale=1.0")

NOISY = f"""\
import os, sys
for number in range(50):
    print("x" * 1_000_000)
    sys.stderr.write("y" * 100_000)
    os.write(1, b"z" * 100_000)
{GOOD}
"""

ASKING = f"name = input('your name? ')\n{GOOD}"

GREEDY = """\
kept = []
while True: kept.append(b"x" * 20_000_000)
"""
"""Takes memory without end."""

TAMPERING = f"""\
import builtins, json, os, sys, time
sys.stdout = sys.stderr = None
sys.path.clear()
sys.argv[:] = []
os.chdir("/")
os.environ.clear()
builtins.print = None
json.dumps = time.monotonic = None
{GOOD}
"""
"""Changes what others use."""
