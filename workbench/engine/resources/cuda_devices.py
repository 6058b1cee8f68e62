"""Print the UUIDs of the GPUs visible to CUDA, one per line, in CUDA's order.

This is run as a separate program with a given environment, because only CUDA can interpret
CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, and a process that initialised CUDA cannot fork.
"""

from __future__ import annotations

import ctypes
import uuid


def print_uuids() -> None:
    """Print each GPU's UUID, as ``cuDeviceGetUuid`` returns it, or nothing without a driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    count, device, raw = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return
    # Version 2 returns a MIG instance's own UUID; drivers before 11.4 lack it.
    get_uuid = getattr(cuda, "cuDeviceGetUuid_v2", cuda.cuDeviceGetUuid)
    for number in range(count.value):
        if cuda.cuDeviceGet(ctypes.byref(device), number) or get_uuid(raw, device):
            return  # an order with gaps would name the wrong GPU
        print(uuid.UUID(bytes=bytes(raw)))


if __name__ == "__main__":
    print_uuids()
