"""Workers for tests: forked from one process that has imported DALI, not started anew each time.

A worker takes 0.6 s of CPU to import what it runs; forked it takes 0.03 s and is as fresh: no test
gets what another left. It stands in for ``subprocess.Popen`` in ``engine.worker_process`` alone.
Tests of how workers start, and all on a machine with a GPU, start them as users do.

Run as a program, this is the process that they are forked from: ``python -m tests.forked_workers
FD``. What it is asked for and what it answers are JSON, a message a datagram, with the descriptors.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

_LONGEST = 1 << 18
"""Bytes of a request."""
_NO_WORD = "ignore:This process:DeprecationWarning"
"""From Python 3.12 on a fork warns of other threads; here that is OpenBLAS's, which is prepared."""


class ForkServer:
    """The process that workers are forked from; started when the first is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {**os.environ}  # of no test: the one that starts it may have its own

    def fork(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """The process id of a new worker, which leads a session of its own."""
        with self._lock:
            if self._socket is None:
                self._start()
            assert self._socket is not None
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
            return int(self._socket.recv(_LONGEST))

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", _NO_WORD, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**self._environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )

    def close(self) -> None:
        """End it; workers that are left end by themselves."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait()
            self._socket = None


class ForkedWorker:
    """Of ``subprocess.Popen`` what ``WorkerProcess`` uses."""

    def __init__(
        self,
        server: ForkServer,
        command: Sequence[str],
        pass_fds: Sequence[int],
        stdout: IO[bytes],
        env: Mapping[str, str],
        **same_for_all: object,
    ) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        self._told, tells = os.pipe()
        arguments = command[command.index("workbench.engine") + 1 :]
        request = {"arguments": arguments, "environment": dict(env), "folder": os.getcwd()}
        try:
            self.pid = server.fork(request, [*pass_fds, stdout.fileno(), tells])
        finally:
            os.close(tells)
        try:
            self._handle = os.pidfd_open(self.pid)
        except ProcessLookupError:  # it has ended
            self._handle = os.dup(self._told)

    def __del__(self) -> None:
        os.close(self._told)
        os.close(self._handle)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code. Raises ``subprocess.TimeoutExpired`` where it still runs by then."""
        if self.returncode is None and not select.select([self._handle], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("workbench.engine", timeout or 0.0)
        with self._lock:
            if self.returncode is None:
                self.returncode = int(os.read(self._told, 16))
            return self.returncode


def serve(ours: socket.socket) -> None:
    """Fork a worker for each request, and tell the exit code of each."""
    from workbench.catalog import load_catalog

    importlib.import_module("workbench.preview")  # what most tests ask a worker for
    load_catalog()
    gc.freeze()
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([ours, *running], [], [])[0]:
            if isinstance(ready, int):
                pid, tells = running.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with suppress(BrokenPipeError):  # nobody waits for it any more
                    os.write(tells, str(code).encode())
                os.close(tells)
                os.close(ready)
                continue
            message, descriptors, *_ = socket.recv_fds(ours, _LONGEST, 3)
            if not message:
                return
            if (pid := os.fork()) == 0:
                for handle, (_, tells) in running.items():
                    os.close(handle)
                    os.close(tells)
                os.close(descriptors[2])
                become_worker(json.loads(message), ours, *descriptors[:2])
            running[os.pidfd_open(pid)] = (pid, descriptors[2])
            for descriptor in descriptors[:2]:
                os.close(descriptor)


def become_worker(request: dict[str, Any], ours: socket.socket, channel: int, log: int) -> None:
    """Be what ``python -m workbench.engine`` is."""
    from workbench.engine.run.worker import main

    os.setsid()
    ours.send(str(os.getpid()).encode())
    ours.close()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ.clear()
    os.environ.update(request["environment"])
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]
    tempfile.tempdir = None
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, *others = request["arguments"]
    main(str(channel), *others)
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
