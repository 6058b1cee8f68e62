"""Sends an image to the model ``cutout`` on a Triton server.

Usage: python client.py PHOTO.jpg [--url HOST:PORT] [--save FILE.npz]

Needs numpy and tritonclient[http].
"""

import argparse
from pathlib import Path

import numpy as np
import tritonclient.http as triton

MODEL = "cutout"
INPUT = "IMAGE"
OUTPUTS = ["images"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Send an image to Triton.")
    parser.add_argument("image", type=Path, help="JPEG, PNG, or what else DALI decodes")
    parser.add_argument("--url", default="localhost:8000", help="its HTTP port")
    parser.add_argument("--save", metavar="FILE.npz", help="keep the arrays")
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


if __name__ == "__main__":
    main()
