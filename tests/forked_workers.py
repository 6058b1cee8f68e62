"""Workers and exported scripts of tests: forked from one process that has imported DALI.

A started process imports for 0.6 s of CPU; a forked one needs 0.03 s, and its state is as new:
no test gets what another left. They stand in for ``subprocess.Popen`` in ``worker_process`` and in
``exported_script`` alone. Tests of how workers and scripts start, and all on a machine with a GPU,
start them as users do.

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
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

_LONGEST = 1 << 18
"""Bytes of a request."""
_NO_WORD = "ignore:This process:DeprecationWarning"
"""From Python 3.12 on a fork warns of other threads; here that is OpenBLAS's, which is prepared."""


class ForkServer:
    """The process that workers are forked from; started for the first one."""

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


class ForkedProcess:
    """Of ``subprocess.Popen`` what ``WorkerProcess`` and ``ExportedScript`` use."""

    def __init__(
        self, server: ForkServer, request: Mapping[str, Any], descriptors: Sequence[int]
    ) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        self._told, tells = os.pipe()
        try:
            whole = {**request, "folder": os.getcwd()}
            self.pid = server.fork(whole, [*descriptors, tells])
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
        """End it at once, as ``Popen`` does also where it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code. Raises ``subprocess.TimeoutExpired`` where it still runs by then."""
        if self.returncode is None and not select.select([self._handle], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("workbench.engine", timeout or 0.0)
        with self._lock:
            if self.returncode is None:
                told = os.read(self._told, 16)  # empty if the server has ended, and its children
                self.returncode = int(told) if told else -signal.SIGKILL
            return self.returncode


class ForkedWorker(ForkedProcess):
    """A worker of an engine."""

    def __init__(
        self,
        server: ForkServer,
        command: Sequence[str],
        pass_fds: Sequence[int],
        stdout: IO[bytes],
        env: Mapping[str, str],
        **same_for_all: object,
    ) -> None:
        arguments = command[command.index("workbench.engine") + 1 :]
        request = {"arguments": arguments, "environment": dict(env)}
        super().__init__(server, request, [*pass_fds, stdout.fileno()])


class ForkedScript(ForkedProcess):
    """A process that runs exported code, given as a text of Python: ``python -P -c TEXT ...``."""

    def __init__(
        self,
        server: ForkServer,
        command: Sequence[str],
        stderr: IO[bytes],
        **same_for_all: object,
    ) -> None:
        text, *arguments = command[command.index("-c") + 1 :]
        request = {"text": text, "arguments": arguments, "environment": dict(os.environ)}
        orders, to_orders = os.pipe()
        from_answers, answers = os.pipe()
        self.stdin, self.stdout = os.fdopen(to_orders, "w"), os.fdopen(from_answers)
        try:
            super().__init__(server, request, [orders, answers, stderr.fileno()])
        finally:
            os.close(orders)
            os.close(answers)


def serve(ours: socket.socket) -> None:
    """Fork a process for each request, and report its exit code."""
    from workbench.catalog import load_catalog

    importlib.import_module("workbench.preview")  # what most tests ask a worker for
    load_catalog()
    gc.freeze()
    running: dict[int, tuple[int, int]] = {}
    while True:
        waiting: list[socket.socket | int] = [ours, *running]
        for ready in select.select(waiting, [], [])[0]:
            if isinstance(ready, int):
                pid, tells = running.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with suppress(BrokenPipeError):  # nobody waits for it any more
                    os.write(tells, str(code).encode())
                os.close(tells)
                os.close(ready)
                continue
            message, descriptors, *_ = socket.recv_fds(ours, _LONGEST, 4)
            if not message:
                return
            *others, tells = descriptors
            if (pid := os.fork()) == 0:
                for handle, (_, other) in running.items():
                    os.close(handle)
                    os.close(other)
                os.close(tells)
                request = json.loads(message)
                become_script(request, ours, *others) if "text" in request else become_worker(
                    request, ours, *others
                )
            running[os.pidfd_open(pid)] = (pid, tells)
            for descriptor in others:
                os.close(descriptor)


def become(request: dict[str, Any], ours: socket.socket) -> None:
    """Have the environment and the working folder of a process that was started for this."""
    ours.send(str(os.getpid()).encode())
    ours.close()
    os.environ.clear()
    os.environ.update(request["environment"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]
    tempfile.tempdir = None
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)


def become_script(
    request: dict[str, Any], ours: socket.socket, orders: int, answers: int, log: int
) -> None:
    """Be what ``python -P -c TEXT`` is."""
    for number, descriptor in enumerate((orders, answers, log)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    become(request, ours)
    sys.stdin = os.fdopen(0)
    sys.argv = ["-c", *request["arguments"]]
    code = 0
    try:
        exec(compile(request["text"], "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def become_worker(request: dict[str, Any], ours: socket.socket, channel: int, log: int) -> None:
    """Be what ``python -m workbench.engine`` is."""
    from workbench.engine.run.worker import main

    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    become(request, ours)
    _, *others = request["arguments"]
    main(str(channel), *others)
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
