"""Sequences stored as NumPy arrays: read in part and reordered."""

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=121)
def numpy_frames(data_dir):
    frames = fn.readers.numpy(
        file_root=data_dir,
        file_filter="*.npy",
        roi_start=[0, 0, 0, 0],
        roi_end=[4, 32, 32, 3],
        cache_header_information=True,
        random_shuffle=True,
        seed=3,
    )
    frames = fn.reshape(frames, layout="FHWC")
    frames = fn.sequence_rearrange(frames, new_order=[3, 2, 1, 0])
    return fn.resize(frames, size=(48, 48))
