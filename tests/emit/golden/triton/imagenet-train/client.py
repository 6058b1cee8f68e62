"""Sends an image to the model ``imagenet_train`` on a Triton server.

Usage: python client.py PHOTO.jpg [--url HOST:PORT] [--save FILE.npz]
       python client.py PHOTO.jpg --requests 1000 --clients 16    (measures the server)

Needs numpy and tritonclient[http].
"""

import argparse
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tritonclient.http as triton

MODEL = "imagenet_train"
INPUT = "IMAGE"
OUTPUTS = ["images"]


def measure(url: str, image: triton.InferInput, requests: int, clients: int) -> None:
    """Print the requests per second and the latency."""
    own = threading.local()  # clients are not thread-safe

    def ask(number: int) -> float:
        if not hasattr(own, "client"):
            own.client = triton.InferenceServerClient(url)
        start = time.perf_counter()
        own.client.infer(MODEL, [image])
        return time.perf_counter() - start

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(4 * clients)))  # warm-up
        start = time.perf_counter()
        latencies = sorted(pool.map(ask, range(requests)))
        seconds = time.perf_counter() - start
    median, late = (1000 * latencies[int(share * requests)] for share in (0.5, 0.95))
    print(f"{requests / seconds:.1f} requests/s from {clients} clients")
    print(f"latency: median {median:.1f} ms, 95 % within {late:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Send an image to Triton.")
    parser.add_argument("image", type=Path, help="a format that DALI decodes")
    parser.add_argument("--url", default="localhost:8000", help="its HTTP port")
    parser.add_argument("--save", metavar="FILE.npz", help="save the arrays")
    parser.add_argument("--requests", type=int, default=0, help="measure this many")
    parser.add_argument("--clients", type=int, default=8, help="concurrent clients")
    args = parser.parse_args()

    encoded = np.fromfile(args.image, np.uint8)[np.newaxis]  # a batch of one
    image = triton.InferInput(INPUT, encoded.shape, "UINT8")
    image.set_data_from_numpy(encoded)
    with triton.InferenceServerClient(args.url) as client:
        answer = client.infer(MODEL, [image])
    arrays = {name: answer.as_numpy(name) for name in OUTPUTS}
    for name, array in arrays.items():
        print(f"{name}: {array.dtype} {array.shape}, mean {array.mean():.3f}")
    if args.save:
        np.savez(args.save, **arrays)
    if args.requests:
        measure(args.url, image, args.requests, args.clients)


if __name__ == "__main__":
    main()
