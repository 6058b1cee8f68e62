"""Send and receive messages over a stream socket in frames with a version. Nothing is pickled.

A frame is a header, a message and a payload::

    "DWB" | version (1 byte) | length of the message (4) | of the payload (8) | message | payload

The message is one of ``engine.messages``. The payload is the message's data, encoded separately
by its own type (``engine.codec``), so that megabytes are never copied into or out of the message.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from typing import Any

import msgspec

VERSION = 2
"""Version of frames and messages. Increase it with every incompatible change."""
_MAGIC = b"DWB"
_HEADER = struct.Struct("!3sBIQ")
_LONGEST = 2**32
"""Maximum frame size in bytes. A larger frame is invalid."""
_SMALL = 2**14
"""Maximum payload size in bytes for sending message and payload in one system call."""


class ChannelError(Exception):
    """Raised if received data is not a valid message."""


class VersionError(ChannelError):
    """Raised if the other process uses a different protocol version. The message contains a fix."""


class Channel:
    """Sends and receives typed messages over a socket.

    ``send`` may be called from any thread.
    """

    def __init__(self, connected: socket.socket, receives: Any) -> None:
        self._socket = connected
        self._sending = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(receives)
        self._poll = select.poll()
        self._poll.register(connected, select.POLLIN)
        self._expect(_HEADER.size)
        self._split: int | None = None
        "Offset of the payload in the frame, or None while the header is read."

    def send(self, message: msgspec.Struct, payload: bytes = b"") -> None:
        """Send a complete message. Raises OSError if the connection is closed."""
        text = self._encoder.encode(message)
        head = _HEADER.pack(_MAGIC, VERSION, len(text), len(payload)) + text
        with self._sending:
            if len(payload) <= _SMALL:
                self._socket.sendall(head + payload)
                return
            sent = self._socket.sendmsg([head, payload])
            if sent < len(head):
                self._socket.sendall(head[sent:])
            self._socket.sendall(memoryview(payload)[max(0, sent - len(head)) :])

    def receive(self, timeout: float | None = None) -> tuple[Any, memoryview] | None:
        """Return the next message and its payload, or None after ``timeout`` seconds.

        Partial messages are stored for the next call. Raises EOFError or OSError if the connection
        is closed, and ChannelError for invalid data.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._advance():
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._poll.poll(left and left * 1000):
                return None
        frame, split = self._frame, self._split
        self._expect(_HEADER.size)
        self._split = None
        try:
            return self._decoder.decode(frame[:split]), frame[split:]
        except msgspec.DecodeError as error:
            raise ChannelError(str(error)) from None

    def _expect(self, size: int) -> None:
        self._frame = memoryview(bytearray(size))
        self._filled = 0

    def _advance(self) -> bool:
        """Read available data. Return True if the frame is complete."""
        while True:
            if self._filled == len(self._frame):
                if self._split is not None:
                    return True
                _, _, text, payload = _HEADER.unpack(self._frame)
                if text + payload > _LONGEST:
                    raise ChannelError(f"a frame of {text + payload} bytes")
                self._expect(text + payload)
                self._split = text
            try:
                count = self._socket.recv_into(self._frame[self._filled :], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            if not count:
                raise EOFError
            self._filled += count
            if self._split is None:
                self._check_start()

    def _check_start(self) -> None:
        """Raise ChannelError or VersionError if a frame starts with invalid bytes.

        This is checked before the header is complete, because invalid data may be shorter than a
        header.
        """
        start = bytes(self._frame[: min(self._filled, len(_MAGIC))])
        if not _MAGIC.startswith(start):
            raise ChannelError(f"a frame that starts with {start!r}")
        if self._filled > len(_MAGIC) and self._frame[len(_MAGIC)] != VERSION:
            raise VersionError(
                f"The worker uses version {self._frame[len(_MAGIC)]} of the protocol, this "
                f"process version {VERSION}. Install the same version of dali-workbench on both "
                "sides, then restart both."
            )

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket, which notifies the other process."""
        self._socket.close()
