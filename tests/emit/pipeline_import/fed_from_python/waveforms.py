"""Waves of different lengths from saved arrays, turned into mel spectrograms in decibels."""

import glob
import os

import numpy as np
from nvidia.dali import fn, pipeline_def, types


def wave_source(folder, batch_size):
    names = sorted(glob.glob(os.path.join(folder, "waves", "*.npy")))
    waves = [np.load(name).astype(np.float32) for name in names]

    def source(i):
        return [waves[(i * batch_size + k) % len(waves)] for k in range(batch_size)]

    return source


@pipeline_def(batch_size=2, num_threads=2, device_id=None)
def mel(data_dir):
    audio = fn.external_source(source=wave_source(data_dir, 2), dtype=types.FLOAT, ndim=1)
    spectrogram = fn.spectrogram(audio, nfft=256, window_length=256, window_step=128)
    bands = fn.mel_filter_bank(spectrogram, sample_rate=8000.0, nfilter=20)
    return fn.to_decibels(bands, multiplier=10.0, cutoff_db=-80.0), audio
