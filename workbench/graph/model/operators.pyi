# Written by `python -m workbench.graph.builder.operator_stubs` from DALI 2.4.0; not by hand.
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar

from workbench.graph.builder.data_node import DataNode
from workbench.graph.model import Graph
from workbench.graph.model.bounds import DecodeDevice, Executor
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.block_methods import Apply
from workbench.graph.variants.difference import GraphDifferences
from workbench.preview import OutputBatch
from workbench.sources import Data

R = TypeVar("R")

class EnumMember(Protocol):  # of nvidia.dali.types
    @property
    def name(self) -> str: ...

class Calls(Protocol):
    def attribute(self, owner: Any, name: str) -> Any: ...
    def unbound(self, owner: type, name: str) -> Any: ...
    def names(self, owner: Any) -> list[str]: ...
    def item(self, graph: Any, node_id: str) -> Any: ...
    def call(self, graph: Any, image: object, **options: Any) -> Any: ...
    def shown(self, graph: Any) -> dict[str, str]: ...

def register(calls: Calls) -> None: ...

def operator_function(
    call: Callable[..., Any], spec: Any, bound: bool = False
) -> Callable[..., Any]: ...

class OperatorGroup:
    def __init__(self, members: Mapping[str, Callable[[], Any]], name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

DataType = Literal['UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FLOAT16', 'FLOAT', 'FLOAT64', 'BOOL'] | EnumMember
DataType11 = Literal['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FLOAT', 'FLOAT64'] | EnumMember
DataType9 = Literal['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64'] | EnumMember
ImageType = Literal['RGB', 'BGR', 'GRAY', 'YCbCr', 'ANY_DATA'] | EnumMember
InterpType = Literal['INTERP_NN', 'INTERP_LINEAR', 'INTERP_CUBIC', 'INTERP_LANCZOS3', 'INTERP_TRIANGULAR', 'INTERP_GAUSSIAN'] | EnumMember
InterpType2 = Literal['INTERP_NN', 'INTERP_LINEAR'] | EnumMember

class ExperimentalInputsOperators(Generic[R]):
    def video(
        self,
        *inputs: DataNode | Graph,
        sequence_length: int = ...,
        last_sequence_policy: Literal['partial', 'pad'] | None = ...,
        blocking: bool | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        no_copy: bool | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Streams and decodes a video from a memory buffer."""
class ExperimentalReadersOperators(Generic[R]):
    def video(
        self,
        *inputs: DataNode | Graph,
        sequence_length: int = ...,
        stride: int | None = ...,
        step: int | None = ...,
        random_shuffle: bool | None = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        pad_mode: Literal['none', 'constant', 'edge', 'reflect_1001', 'reflect_101'] | DataNode | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        enable_frame_num: Literal['none', 'scalar', 'sequence'] | None = ...,
        enable_timestamps: bool | None = ...,
        file_list_format: Literal['frames', 'timestamps'] | None = ...,
        file_list_include_end: bool | None = ...,
        file_list_rounding: Literal['start_down_end_up', 'start_up_end_down', 'all_up', 'all_down'] | None = ...,
        fill_value: int | Sequence[int] | None = ...,
        uniform_sample: bool | None = ...,
        tensor_init_bytes: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        file_list: str | None = ...,
        file_root: str | None = ...,
        filenames: str | Sequence[str] | None = ...,
        image_type: ImageType | None = ...,
        labels: int | Sequence[int] | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        read_ahead: bool | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Loads and decodes video files from disk."""
class IoFileOperators(Generic[R]):
    def read(
        self,
        *inputs: DataNode | Graph,
        use_o_direct: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Reads raw file contents from an encoded filename represented by a 1D byte array."""
class DecodersOperators(Generic[R]):
    def audio(
        self,
        *inputs: DataNode | Graph,
        sample_rate: float | DataNode | None = ...,
        downmix: bool | None = ...,
        dtype: DataType | None = ...,
        quality: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Decodes waveforms from encoded audio data."""
    def image(
        self,
        *inputs: DataNode | Graph,
        output_type: ImageType | None = ...,
        adjust_orientation: bool | None = ...,
        dtype: DataType | None = ...,
        hw_decoder_load: float | None = ...,
        cache_size: int | None = ...,
        cache_threshold: int | None = ...,
        cache_type: Literal['', 'threshold', 'largest'] | None = ...,
        preallocate_height_hint: int | None = ...,
        preallocate_width_hint: int | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        cache_batch_copy: bool | None = ...,
        cache_debug: bool | None = ...,
        device_memory_padding: int | None = ...,
        device_memory_padding_jpeg2k: int | None = ...,
        host_memory_padding: int | None = ...,
        host_memory_padding_jpeg2k: int | None = ...,
        hybrid_huffman_threshold: int | None = ...,
        jpeg_fancy_upsampling: bool | None = ...,
        memory_stats: bool | None = ...,
        preserve: bool | None = ...,
        split_stages: bool | None = ...,
        use_chunk_allocator: bool | None = ...,
        use_fast_idct: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes images."""
    def image_crop(
        self,
        *inputs: DataNode | Graph,
        crop: float | Sequence[float] | DataNode | None = ...,
        crop_pos_x: float | DataNode | None = ...,
        crop_pos_y: float | DataNode | None = ...,
        output_type: ImageType | None = ...,
        adjust_orientation: bool | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        crop_d: float | DataNode | None = ...,
        crop_h: float | DataNode | None = ...,
        crop_pos_z: float | DataNode | None = ...,
        crop_w: float | DataNode | None = ...,
        device_memory_padding: int | None = ...,
        device_memory_padding_jpeg2k: int | None = ...,
        dtype: DataType | None = ...,
        host_memory_padding: int | None = ...,
        host_memory_padding_jpeg2k: int | None = ...,
        hw_decoder_load: float | None = ...,
        hybrid_huffman_threshold: int | None = ...,
        jpeg_fancy_upsampling: bool | None = ...,
        memory_stats: bool | None = ...,
        preallocate_height_hint: int | None = ...,
        preallocate_width_hint: int | None = ...,
        preserve: bool | None = ...,
        rounding: Literal['round', 'truncate'] | None = ...,
        split_stages: bool | None = ...,
        use_chunk_allocator: bool | None = ...,
        use_fast_idct: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes images and extracts regions-of-interest (ROI) that are specified by fixed window dimensions and variable anchors."""
    def image_random_crop(
        self,
        *inputs: DataNode | Graph,
        random_area: float | Sequence[float] | None = ...,
        random_aspect_ratio: float | Sequence[float] | None = ...,
        output_type: ImageType | None = ...,
        adjust_orientation: bool | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        device_memory_padding: int | None = ...,
        device_memory_padding_jpeg2k: int | None = ...,
        dtype: DataType | None = ...,
        host_memory_padding: int | None = ...,
        host_memory_padding_jpeg2k: int | None = ...,
        hw_decoder_load: float | None = ...,
        hybrid_huffman_threshold: int | None = ...,
        jpeg_fancy_upsampling: bool | None = ...,
        memory_stats: bool | None = ...,
        num_attempts: int | None = ...,
        preallocate_height_hint: int | None = ...,
        preallocate_width_hint: int | None = ...,
        preserve: bool | None = ...,
        split_stages: bool | None = ...,
        use_chunk_allocator: bool | None = ...,
        use_fast_idct: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes images and randomly crops them."""
    def image_slice(
        self,
        *inputs: DataNode | Graph,
        rel_start: float | Sequence[float] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | DataNode | None = ...,
        axis_names: str | None = ...,
        output_type: ImageType | None = ...,
        adjust_orientation: bool | None = ...,
        affine: bool | None = ...,
        axes: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        device_memory_padding: int | None = ...,
        device_memory_padding_jpeg2k: int | None = ...,
        dtype: DataType | None = ...,
        end: int | Sequence[int] | DataNode | None = ...,
        host_memory_padding: int | None = ...,
        host_memory_padding_jpeg2k: int | None = ...,
        hw_decoder_load: float | None = ...,
        hybrid_huffman_threshold: int | None = ...,
        jpeg_fancy_upsampling: bool | None = ...,
        memory_stats: bool | None = ...,
        normalized_anchor: bool | None = ...,
        normalized_shape: bool | None = ...,
        preallocate_height_hint: int | None = ...,
        preallocate_width_hint: int | None = ...,
        preserve: bool | None = ...,
        rel_end: float | Sequence[float] | DataNode | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        split_stages: bool | None = ...,
        start: int | Sequence[int] | DataNode | None = ...,
        use_chunk_allocator: bool | None = ...,
        use_fast_idct: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes images and extracts regions of interest."""
    def pillow(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes GIF, AVIF, ICO, TGA, QOI and other formats of Pillow (the first of several frames), in Python: 200 to 500 photos/s of 0.2 megapixels, for any number of threads. For formats that DALI decodes use decoders.image."""
    def video(
        self,
        *inputs: DataNode | Graph,
        sequence_length: int | DataNode | None = ...,
        stride: int | DataNode | None = ...,
        start_frame: int | DataNode | None = ...,
        end_frame: int | DataNode | None = ...,
        frames: int | Sequence[int] | DataNode | None = ...,
        pad_mode: Literal['none', 'constant', 'edge', 'reflect_1001', 'reflect_101'] | DataNode | None = ...,
        fill_value: int | Sequence[int] | None = ...,
        build_index: bool | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Decodes videos from in-memory streams."""
class ExperimentalOperators(Generic[R]):
    @property
    def inputs(self) -> ExperimentalInputsOperators[R]: ...
    @property
    def readers(self) -> ExperimentalReadersOperators[R]: ...
    def dilate(
        self,
        *inputs: DataNode | Graph,
        mask_size: int | Sequence[int] | DataNode | None = ...,
        iterations: int | None = ...,
        border_mode: Literal['constant', 'replicate', 'reflect', 'reflect_101', 'wrap'] | None = ...,
        anchor: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a dilation operation on the input image."""
    def erode(
        self,
        *inputs: DataNode | Graph,
        mask_size: int | Sequence[int] | DataNode | None = ...,
        iterations: int | None = ...,
        border_mode: Literal['constant', 'replicate', 'reflect', 'reflect_101', 'wrap'] | None = ...,
        anchor: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs an erosion operation on the input image."""
    def median_blur(
        self,
        *inputs: DataNode | Graph,
        window_size: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Median blur performs smoothing of an image or sequence of images by replacing each pixel with the median color of a surrounding rectangular region."""
    def remap(
        self,
        *inputs: DataNode | Graph,
        interp: InterpType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        pixel_origin: Literal['corner', 'center'] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The remap operation applies a generic geometrical transformation to an image."""
    def resize(
        self,
        *inputs: DataNode | Graph,
        size: float | Sequence[float] | DataNode | None = ...,
        resize_shorter: float | DataNode | None = ...,
        resize_longer: float | DataNode | None = ...,
        resize_x: float | DataNode | None = ...,
        resize_y: float | DataNode | None = ...,
        resize_z: float | DataNode | None = ...,
        mode: Literal['default', 'stretch', 'not_larger', 'not_smaller'] | None = ...,
        interp_type: InterpType | DataNode | None = ...,
        antialias: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        image_type: ImageType | None = ...,
        mag_filter: InterpType | DataNode | None = ...,
        max_size: float | Sequence[float] | None = ...,
        min_filter: InterpType | DataNode | None = ...,
        minibatch_size: int | None = ...,
        preserve: bool | None = ...,
        roi_end: float | Sequence[float] | DataNode | None = ...,
        roi_relative: bool | None = ...,
        roi_start: float | Sequence[float] | DataNode | None = ...,
        subpixel_scale: bool | None = ...,
        temp_buffer_hint: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Resize images."""
    def warp_perspective(
        self,
        *inputs: DataNode | Graph,
        matrix: float | Sequence[float] | DataNode | None = ...,
        border_mode: Literal['constant', 'replicate', 'reflect', 'reflect_101', 'wrap'] | None = ...,
        fill_value: float | Sequence[float] | None = ...,
        interp_type: InterpType | None = ...,
        inverse_map: bool | None = ...,
        size: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        pixel_origin: Literal['corner', 'center'] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a perspective transform on the images."""
class MathOperators(Generic[R]):
    def abs(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Absolute value."""
    def acos(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Angle in radians of a cosine."""
    def acosh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Inverse hyperbolic cosine."""
    def add(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Sum of two values."""
    def asin(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Angle in radians of a sine."""
    def asinh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Inverse hyperbolic sine."""
    def atan(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Angle in radians of a tangent."""
    def atan2(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Arc tangent of the quotient of two values."""
    def atanh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Inverse hyperbolic tangent."""
    def bitand(
        self,
        *inputs: DataNode | Graph,
        right: int | DataNode | None = ...,
        left: int | DataNode | None = ...,
        constant_type: DataType9 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Bits set in both."""
    def bitnot(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Every bit inverted."""
    def bitor(
        self,
        *inputs: DataNode | Graph,
        right: int | DataNode | None = ...,
        left: int | DataNode | None = ...,
        constant_type: DataType9 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Bits set in either."""
    def bitxor(
        self,
        *inputs: DataNode | Graph,
        right: int | DataNode | None = ...,
        left: int | DataNode | None = ...,
        constant_type: DataType9 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Bits set in one."""
    def cbrt(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Cube root."""
    def ceil(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The smallest integer not below the value."""
    def clamp(
        self,
        *inputs: DataNode | Graph,
        lo: float | DataNode | None = ...,
        hi: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The value, limited to a range."""
    def cos(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Cosine of an angle in radians."""
    def cosh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Hyperbolic cosine."""
    def eq(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Whether two values are equal."""
    def exp(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """e to the power of the value."""
    def fabs(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Absolute value, as a float."""
    def floor(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The largest integer not above the value."""
    def floordiv(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Quotient; integers are rounded towards zero."""
    def fpow(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Power, a float even for integers."""
    def ge(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Greater or equal."""
    def gt(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Whether a value is greater."""
    def le(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Less or equal."""
    def log(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Natural logarithm."""
    def log10(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Logarithm to the base 10."""
    def log2(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Logarithm to the base 2."""
    def lshift(
        self,
        *inputs: DataNode | Graph,
        right: int | DataNode | None = ...,
        left: int | DataNode | None = ...,
        constant_type: DataType9 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Bits moved up."""
    def lt(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Whether a value is less."""
    def max(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The larger of two values."""
    def min(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The smaller of two values."""
    def mod(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Remainder."""
    def mul(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Product."""
    def ne(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Whether two values differ."""
    def neg(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The negated value."""
    def pow(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Power."""
    def rshift(
        self,
        *inputs: DataNode | Graph,
        right: int | DataNode | None = ...,
        left: int | DataNode | None = ...,
        constant_type: DataType9 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Bits moved down."""
    def rsqrt(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Reciprocal of the square root."""
    def sin(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Sine of an angle in radians."""
    def sinh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Hyperbolic sine."""
    def sqrt(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Square root."""
    def sub(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Difference."""
    def tan(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Tangent of an angle in radians."""
    def tanh(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Hyperbolic tangent."""
    def truediv(
        self,
        *inputs: DataNode | Graph,
        right: float | DataNode | None = ...,
        left: float | DataNode | None = ...,
        constant_type: DataType11 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Quotient, a float even for integers."""
class NoiseOperators(Generic[R]):
    def gaussian(
        self,
        *inputs: DataNode | Graph,
        stddev: float | DataNode | None = ...,
        mean: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies gaussian noise to the input."""
    def salt_and_pepper(
        self,
        *inputs: DataNode | Graph,
        prob: float | DataNode | None = ...,
        salt_vs_pepper: float | DataNode | None = ...,
        per_channel: bool | None = ...,
        salt_val: float | DataNode | None = ...,
        pepper_val: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies salt-and-pepper noise to the input."""
    def shot(
        self,
        *inputs: DataNode | Graph,
        factor: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies shot noise to the input."""
class RandomOperators(Generic[R]):
    def beta(
        self,
        *inputs: DataNode | Graph,
        alpha: float | DataNode | None = ...,
        beta: float | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Generates a random number from [0, 1] range following the beta distribution."""
    def choice(
        self,
        *inputs: DataNode | Graph,
        population: int | None = ...,
        p: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
    ) -> R:
        """Generates a random sample from a given 1D array."""
    def coin_flip(
        self,
        *inputs: DataNode | Graph,
        probability: float | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Generates random boolean values following a bernoulli distribution."""
    def normal(
        self,
        *inputs: DataNode | Graph,
        mean: float | DataNode | None = ...,
        stddev: float | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Generates random numbers following a normal distribution."""
    def uniform(
        self,
        *inputs: DataNode | Graph,
        range: float | Sequence[float] | DataNode | None = ...,
        values: float | Sequence[float] | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Generates random numbers following a uniform distribution."""
class ReadersOperators(Generic[R]):
    def caffe(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        image_available: bool | None = ...,
        label_available: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        path: str | Sequence[str] = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads (Image, label) pairs from a Caffe LMDB."""
    def caffe2(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        image_available: bool | None = ...,
        label_type: int | None = ...,
        num_labels: int | None = ...,
        additional_inputs: int | None = ...,
        bbox: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        path: str | Sequence[str] = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads sample data from a Caffe2 Lightning Memory-Mapped Database (LMDB)."""
    def coco(
        self,
        *inputs: DataNode | Graph,
        polygon_masks: bool | None = ...,
        pixelwise_masks: bool | None = ...,
        random_shuffle: bool | None = ...,
        image_ids: bool | None = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        avoid_class_remapping: bool | None = ...,
        include_iscrowd: bool | None = ...,
        ltrb: bool | None = ...,
        ratio: bool | None = ...,
        size_threshold: float | None = ...,
        skip_empty: bool | None = ...,
        save_preprocessed_annotations: bool | None = ...,
        save_preprocessed_annotations_dir: str | None = ...,
        preprocessed_annotations: str | None = ...,
        annotations_file: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        dump_meta_files: bool | None = ...,
        dump_meta_files_path: str | None = ...,
        file_root: str | None = ...,
        images: str | Sequence[str] | None = ...,
        lazy_init: bool | None = ...,
        masks: bool | None = ...,
        meta_files_path: str | None = ...,
        preserve: bool | None = ...,
        read_ahead: bool | None = ...,
        save_img_ids: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads data from a COCO dataset that is composed of a directory with images and annotation JSON files."""
    def file(
        self,
        *inputs: DataNode | Graph,
        file_root: str | None = ...,
        random_shuffle: bool | None = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        file_filters: str | Sequence[str] | None = ...,
        dir_filters: str | Sequence[str] | None = ...,
        case_sensitive_filter: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        file_list: str | None = ...,
        files: str | Sequence[str] | None = ...,
        labels: int | Sequence[int] | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads file contents and returns file-label pairs."""
    def image_masks(
        self,
        *inputs: DataNode | Graph,
        random_shuffle: bool | None = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        file_filters: str | Sequence[str] | None = ...,
        dir_filters: str | Sequence[str] | None = ...,
        case_sensitive_filter: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read images with masks; images are read as by readers.file."""
    def mxnet(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        index_path: str | Sequence[str] = ...,
        lazy_init: bool | None = ...,
        path: str | Sequence[str] = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads the data from an MXNet RecordIO."""
    def mxnet_labels(
        self,
        *inputs: DataNode | Graph,
        label_width: int = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read RecordIO with float labels; images are read as by readers.mxnet."""
    def numpy(
        self,
        *inputs: DataNode | Graph,
        random_shuffle: bool | None = ...,
        roi_axes: int | Sequence[int] | None = ...,
        roi_start: int | Sequence[int] | DataNode | None = ...,
        roi_shape: int | Sequence[int] | DataNode | None = ...,
        out_of_bounds_policy: Literal['error', 'pad', 'trim_to_shape'] | None = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        cache_header_information: bool | None = ...,
        dont_use_mmap: bool | None = ...,
        file_filter: str | None = ...,
        file_list: str | None = ...,
        file_root: str | None = ...,
        files: str | Sequence[str] | None = ...,
        fill_value: float | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        read_ahead: bool | None = ...,
        register_buffers: bool | None = ...,
        rel_roi_end: float | Sequence[float] | DataNode | None = ...,
        rel_roi_shape: float | Sequence[float] | DataNode | None = ...,
        rel_roi_start: float | Sequence[float] | DataNode | None = ...,
        roi_end: int | Sequence[int] | DataNode | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        use_o_direct: bool | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads Numpy arrays from a directory."""
    def tfrecord(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        use_o_direct: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        features: Any = ...,
        index_path: str | Sequence[str] = ...,
        lazy_init: bool | None = ...,
        path: str | Sequence[str] = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads samples from a TensorFlow TFRecord file."""
    def tfrecord_boxes(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        use_o_direct: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        ltrb: bool | None = ...,
        ratio: bool | None = ...,
        polygon_masks: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read TFRecord with boxes; images are read as by readers.tfrecord."""
    def tfrecord_features(
        self,
        *inputs: DataNode | Graph,
        features: str | Sequence[str] = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        use_o_direct: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read TFRecord features by name; images are read as by readers.tfrecord."""
    def webdataset(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        case_sensitive_extensions: bool | None = ...,
        dtypes: DataType | Sequence[DataType] | None = ...,
        missing_component_behavior: Literal['', 'empty', 'skip', 'error'] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        ext: str | Sequence[str] = ...,
        index_paths: str | Sequence[str] | None = ...,
        lazy_init: bool | None = ...,
        paths: str | Sequence[str] = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """A reader for the webdataset format."""
    def webdataset_boxes(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        case_sensitive_extensions: bool | None = ...,
        dtypes: DataType | Sequence[DataType] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        ltrb: bool | None = ...,
        ratio: bool | None = ...,
        polygon_masks: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read WebDataset with boxes; images are read as by readers.webdataset."""
    def webdataset_features(
        self,
        *inputs: DataNode | Graph,
        features: str | Sequence[str] = ...,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        case_sensitive_extensions: bool | None = ...,
        missing_component_behavior: Literal['', 'empty', 'skip', 'error'] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read WebDataset components by name; images are read as by readers.webdataset."""
    def webdataset_masks(
        self,
        *inputs: DataNode | Graph,
        initial_fill: int | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        prefetch_queue_depth: int | None = ...,
        tensor_init_bytes: int | None = ...,
        case_sensitive_extensions: bool | None = ...,
        dtypes: DataType | Sequence[DataType] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dont_use_mmap: bool | None = ...,
        lazy_init: bool | None = ...,
        preserve: bool | None = ...,
        random_shuffle: bool | None = ...,
        read_ahead: bool | None = ...,
        shuffle_after_epoch: bool | None = ...,
        shuffle_after_epoch_seed: int | None = ...,
        skip_cached_images: bool | None = ...,
        stick_to_shard: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Read WebDataset with masks; images are read as by readers.webdataset."""
class ReductionsOperators(Generic[R]):
    def max(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets maximal input element along provided axes."""
    def mean(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets mean of elements along provided axes."""
    def mean_square(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets mean square of elements along provided axes."""
    def min(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets minimal input element along provided axes."""
    def rms(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets root mean square of elements along provided axes."""
    def std_dev(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        ddof: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets standard deviation of elements along provided axes."""
    def sum(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets sum of elements along provided axes."""
    def variance(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        axes: int | Sequence[int] | None = ...,
        keep_dims: bool | None = ...,
        ddof: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Gets variance of elements along provided axes."""
class SegmentationOperators(Generic[R]):
    def random_mask_pixel(
        self,
        *inputs: DataNode | Graph,
        foreground: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        threshold: float | DataNode | None = ...,
        value: int | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Selects random pixel coordinates in a mask, sampled from a uniform distribution."""
    def random_object_bbox(
        self,
        *inputs: DataNode | Graph,
        foreground_prob: float | DataNode | None = ...,
        format: Literal['anchor_shape', 'start_end'] | None = ...,
        background: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        cache_objects: bool | None = ...,
        class_weights: float | Sequence[float] | DataNode | None = ...,
        classes: int | Sequence[int] | DataNode | None = ...,
        ignore_class: bool | None = ...,
        k_largest: int | None = ...,
        output_class: bool | None = ...,
        preserve: bool | None = ...,
        threshold: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Randomly selects an object from a mask and returns its bounding box."""
class TransformsOperators(Generic[R]):
    def combine(
        self,
        *inputs: DataNode | Graph,
        reverse_order: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Combines two or more affine transforms."""
    def crop(
        self,
        *inputs: DataNode | Graph,
        from_start: float | Sequence[float] | DataNode | None = ...,
        from_end: float | Sequence[float] | DataNode | None = ...,
        to_start: float | Sequence[float] | DataNode | None = ...,
        to_end: float | Sequence[float] | DataNode | None = ...,
        absolute: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        reverse_order: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces an affine transform matrix that maps a reference coordinate space to another one."""
    def rotation(
        self,
        *inputs: DataNode | Graph,
        angle: float | DataNode = ...,
        center: float | Sequence[float] | DataNode | None = ...,
        axis: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        reverse_order: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a rotation affine transform matrix."""
    def scale(
        self,
        *inputs: DataNode | Graph,
        scale: float | Sequence[float] | DataNode = ...,
        center: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        ndim: int | None = ...,
        preserve: bool | None = ...,
        reverse_order: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a scale affine transform matrix."""
    def shear(
        self,
        *inputs: DataNode | Graph,
        angles: float | Sequence[float] | DataNode | None = ...,
        shear: float | Sequence[float] | DataNode | None = ...,
        center: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        reverse_order: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a shear affine transform matrix."""
    def translation(
        self,
        *inputs: DataNode | Graph,
        offset: float | Sequence[float] | DataNode = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        reverse_order: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a translation affine transform matrix."""
class IoOperators(Generic[R]):
    @property
    def file(self) -> IoFileOperators[R]: ...
class Operators(Generic[R]):
    @property
    def decoders(self) -> DecodersOperators[R]: ...
    @property
    def experimental(self) -> ExperimentalOperators[R]: ...
    @property
    def io(self) -> IoOperators[R]: ...
    @property
    def math(self) -> MathOperators[R]: ...
    @property
    def noise(self) -> NoiseOperators[R]: ...
    @property
    def random(self) -> RandomOperators[R]: ...
    @property
    def readers(self) -> ReadersOperators[R]: ...
    @property
    def reductions(self) -> ReductionsOperators[R]: ...
    @property
    def segmentation(self) -> SegmentationOperators[R]: ...
    @property
    def transforms(self) -> TransformsOperators[R]: ...
    def apply_auto_augment(
        self,
        *inputs: DataNode | Graph,
        policy: Any = ...,
        num_magnitude_bins: int | None = ...,
        magnitudes: Literal['suite', 'learnt'] | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        max_translate_abs: int | Sequence[int] | None = ...,
        max_translate_rel: float | Sequence[float] | None = ...,
        fill_value: int | None = ...,
        interp_type: InterpType2 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """One sub-policy of a custom policy for each sample. A sub-policy consists of augmentations with probabilities and magnitudes."""
    def array_request(
        self,
        *inputs: DataNode | Graph,
        dtype: str = ...,
        shape: int | Sequence[int] = ...,
        layout: str | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Arrays sent by another program, such as a Triton client, with a declared type and shape."""
    def audio_resample(
        self,
        *inputs: DataNode | Graph,
        scale: float | DataNode | None = ...,
        in_rate: float | DataNode | None = ...,
        out_rate: float | DataNode | None = ...,
        out_length: int | DataNode | None = ...,
        quality: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Resamples an audio signal."""
    def auto_augment(
        self,
        *inputs: DataNode | Graph,
        policy_name: Literal['image_net', 'reduced_image_net', 'svhn', 'reduced_cifar10'] | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        max_translate_abs: int | Sequence[int] | None = ...,
        max_translate_rel: float | Sequence[float] | None = ...,
        fill_value: int | None = ...,
        interp_type: InterpType2 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """One of the learnt sub-policies of two augmentations for each sample (arXiv 1805.09501)."""
    def batch_permutation(
        self,
        *inputs: DataNode | Graph,
        allow_repetitions: bool | None = ...,
        no_fixed_points: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a batch of random integers which can be used as indices for indexing samples in the batch."""
    def bb_flip(
        self,
        *inputs: DataNode | Graph,
        horizontal: int | DataNode | None = ...,
        vertical: int | DataNode | None = ...,
        ltrb: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Flips bounding boxes horizontally or vertically (mirror)."""
    def bbox_paste(
        self,
        *inputs: DataNode | Graph,
        ratio: float | DataNode = ...,
        paste_x: float | DataNode | None = ...,
        paste_y: float | DataNode | None = ...,
        ltrb: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Transforms bounding boxes so that the boxes remain in the same place in the image after the image is pasted on a larger canvas."""
    def bbox_rotate(
        self,
        *inputs: DataNode | Graph,
        angle: float | DataNode = ...,
        keep_size: bool | None = ...,
        mode: Literal['expand', 'halfway', 'fixed'] | None = ...,
        input_shape: int | Sequence[int] | DataNode = ...,
        size: float | Sequence[float] | DataNode | None = ...,
        bbox_layout: str | None = ...,
        bbox_normalized: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        remove_threshold: float | None = ...,
        shape_layout: str | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Transforms bounding boxes so that the boxes remain in the same place in the image after the image is rotated."""
    def box_encoder(
        self,
        *inputs: DataNode | Graph,
        anchors: float | Sequence[float] = ...,
        criteria: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        means: float | Sequence[float] | None = ...,
        offset: bool | None = ...,
        preserve: bool | None = ...,
        scale: float | None = ...,
        stds: float | Sequence[float] | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Encodes the input bounding boxes and labels using a set of default boxes (anchors) passed as an argument."""
    def brightness(
        self,
        *inputs: DataNode | Graph,
        brightness: float | DataNode | None = ...,
        brightness_shift: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Adjusts the brightness of the images."""
    def brightness_contrast(
        self,
        *inputs: DataNode | Graph,
        brightness: float | DataNode | None = ...,
        contrast: float | DataNode | None = ...,
        brightness_shift: float | DataNode | None = ...,
        contrast_center: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Adjusts the brightness and contrast of the images."""
    def cast(
        self,
        *inputs: DataNode | Graph,
        dtype: DataType = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Cast a tensor to a different type."""
    def cast_like(
        self,
        *inputs: DataNode | Graph,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Cast the first tensor to the type of the second tensor."""
    def cat(
        self,
        *inputs: DataNode | Graph,
        axis: int | None = ...,
        axis_name: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Joins the input tensors along an existing axis."""
    def clahe(
        self,
        *inputs: DataNode | Graph,
        tiles_x: int = ...,
        tiles_y: int = ...,
        clip_limit: float = ...,
        luma_only: bool | None = ...,
        bins: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Contrast Limited Adaptive Histogram Equalization (CLAHE) operator."""
    def color_space_conversion(
        self,
        *inputs: DataNode | Graph,
        image_type: ImageType = ...,
        output_type: ImageType = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Converts between various image color models."""
    def color_twist(
        self,
        *inputs: DataNode | Graph,
        brightness: float | DataNode | None = ...,
        contrast: float | DataNode | None = ...,
        saturation: float | DataNode | None = ...,
        hue: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        image_type: ImageType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Adjusts hue, saturation, brightness and contrast of the image."""
    def constant(
        self,
        *inputs: DataNode | Graph,
        fdata: float | Sequence[float] | None = ...,
        idata: int | Sequence[int] | None = ...,
        shape: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a batch of constant tensors."""
    def contrast(
        self,
        *inputs: DataNode | Graph,
        contrast: float | DataNode | None = ...,
        contrast_center: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Adjusts the contrast of the images."""
    def coord_flip(
        self,
        *inputs: DataNode | Graph,
        flip_x: int | DataNode | None = ...,
        flip_y: int | DataNode | None = ...,
        center_x: float | DataNode | None = ...,
        center_y: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        center_z: float | DataNode | None = ...,
        flip_z: int | DataNode | None = ...,
        layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Transforms vectors or points by flipping (reflecting) their coordinates with respect to a given center."""
    def coord_transform(
        self,
        *inputs: DataNode | Graph,
        MT: float | Sequence[float] | DataNode | None = ...,
        M: float | Sequence[float] | DataNode | None = ...,
        T: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies a linear transformation to points or vectors."""
    def copy(
        self,
        *inputs: DataNode | Graph,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Creates a copy of the input tensor."""
    def crop(
        self,
        *inputs: DataNode | Graph,
        crop: float | Sequence[float] | DataNode | None = ...,
        crop_pos_x: float | DataNode | None = ...,
        crop_pos_y: float | DataNode | None = ...,
        out_of_bounds_policy: Literal['error', 'pad', 'constant', 'trim_to_shape'] | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        crop_d: float | DataNode | None = ...,
        crop_h: float | DataNode | None = ...,
        crop_pos_z: float | DataNode | None = ...,
        crop_w: float | DataNode | None = ...,
        fill_values: float | Sequence[float] | None = ...,
        image_type: ImageType | None = ...,
        output_dtype: DataType | None = ...,
        preserve: bool | None = ...,
        rounding: Literal['round', 'truncate'] | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Crops the images with the specified window dimensions and window position (upper left corner)."""
    def crop_mirror_normalize(
        self,
        *inputs: DataNode | Graph,
        crop: float | Sequence[float] | DataNode | None = ...,
        mirror: int | DataNode | None = ...,
        mean: float | Sequence[float] | DataNode | None = ...,
        std: float | Sequence[float] | DataNode | None = ...,
        dtype: DataType | None = ...,
        output_layout: Literal['CHW', 'HWC', 'FCHW', 'FHWC'] | None = ...,
        out_of_bounds_policy: Literal['error', 'pad', 'constant', 'trim_to_shape'] | None = ...,
        scale: float | None = ...,
        shift: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        crop_d: float | DataNode | None = ...,
        crop_h: float | DataNode | None = ...,
        crop_pos_x: float | DataNode | None = ...,
        crop_pos_y: float | DataNode | None = ...,
        crop_pos_z: float | DataNode | None = ...,
        crop_w: float | DataNode | None = ...,
        fill_values: float | Sequence[float] | None = ...,
        image_type: ImageType | None = ...,
        output_dtype: DataType | None = ...,
        pad_output: bool | None = ...,
        preserve: bool | None = ...,
        rounding: Literal['round', 'truncate'] | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs fused cropping, normalization, format conversion (NHWC to NCHW) if desired, and type casting."""
    def element_extract(
        self,
        *inputs: DataNode | Graph,
        element_map: int | Sequence[int] = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Extracts one or more elements from input sequence."""
    def equalize(
        self,
        *inputs: DataNode | Graph,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs grayscale/per-channel histogram equalization."""
    def erase(
        self,
        *inputs: DataNode | Graph,
        anchor: float | Sequence[float] | DataNode | None = ...,
        shape: float | Sequence[float] | DataNode | None = ...,
        normalized: bool | None = ...,
        centered_anchor: bool | None = ...,
        fill_value: float | Sequence[float] | DataNode | None = ...,
        axes: int | Sequence[int] | None = ...,
        axis_names: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        normalized_anchor: bool | None = ...,
        normalized_shape: bool | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Erases one or more regions from the input tensors."""
    def expand_dims(
        self,
        *inputs: DataNode | Graph,
        axes: int | Sequence[int] = ...,
        new_axis_names: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Insert new dimension(s) with extent 1 to the data shape."""
    def external_source(
        self,
        *inputs: DataNode | Graph,
        random_shuffle: bool | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads arrays, encoded bytes, PIL images and datasets that a Python function returns."""
    def external_source_fields(
        self,
        *inputs: DataNode | Graph,
        random_shuffle: bool | None = ...,
        pad_last_batch: bool | None = ...,
        num_shards: int | None = ...,
        shard_id: int | None = ...,
        fields: str | Sequence[str] | None = ...,
        sampler: Literal['random', 'balanced', 'sequential'] | None = ...,
        weights: float | Sequence[float] | None = ...,
        sample_weights: float | Sequence[float] | None = ...,
        replacement: bool | None = ...,
        indices: int | Sequence[int] | None = ...,
        repeats: int | None = ...,
        num_samples: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Reads a Python dataset whose samples have more fields than an image and a label."""
    def filter(
        self,
        *inputs: DataNode | Graph,
        border: Literal['reflect_101', 'reflect_1001', 'wrap', 'clamp', 'constant'] | None = ...,
        mode: Literal['same', 'valid'] | None = ...,
        anchor: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Convolves the image with the provided filter."""
    def flip(
        self,
        *inputs: DataNode | Graph,
        horizontal: int | DataNode | None = ...,
        vertical: int | DataNode | None = ...,
        depthwise: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Flips the images in selected dimensions (horizontal, vertical, and depthwise)."""
    def full(
        self,
        *inputs: DataNode | Graph,
        shape: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data of given shape and type, filled with a fill value."""
    def full_like(
        self,
        *inputs: DataNode | Graph,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data with the same shape, type and layout as the input data, filled with a fill_value."""
    def gaussian_blur(
        self,
        *inputs: DataNode | Graph,
        sigma: float | Sequence[float] | DataNode | None = ...,
        window_size: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies a Gaussian Blur to the input."""
    def get_property(
        self,
        *inputs: DataNode | Graph,
        key: Literal['source_info', 'layout'] = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns a property of the tensor passed as an input."""
    def grid_mask(
        self,
        *inputs: DataNode | Graph,
        tile: int | DataNode | None = ...,
        ratio: float | DataNode | None = ...,
        angle: float | DataNode | None = ...,
        shift_x: float | DataNode | None = ...,
        shift_y: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs the gridmask augmentation (https://arxiv.org/abs/2001.04086)."""
    def hsv(
        self,
        *inputs: DataNode | Graph,
        hue: float | DataNode | None = ...,
        saturation: float | DataNode | None = ...,
        value: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Adjusts hue, saturation and value (brightness) of the images."""
    def hue(
        self,
        *inputs: DataNode | Graph,
        hue: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        image_type: ImageType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Changes the hue level of the image."""
    def jitter(
        self,
        *inputs: DataNode | Graph,
        nDegree: int | None = ...,
        interp_type: InterpType | None = ...,
        fill_value: float | None = ...,
        mask: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a random Jitter augmentation."""
    def jpeg_compression_distortion(
        self,
        *inputs: DataNode | Graph,
        quality: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Introduces JPEG compression artifacts to RGB images."""
    def laplacian(
        self,
        *inputs: DataNode | Graph,
        window_size: int | Sequence[int] | DataNode | None = ...,
        smoothing_size: int | Sequence[int] | DataNode | None = ...,
        normalized_kernel: bool | None = ...,
        scale: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Computes the Laplacian of an input."""
    def lookup_table(
        self,
        *inputs: DataNode | Graph,
        keys: int | Sequence[int] | None = ...,
        values: float | Sequence[float] | None = ...,
        default_value: float | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        output_dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Maps the input to output by using a lookup table that is specified by keys and values, and a default_value for unspecified keys."""
    def mel_filter_bank(
        self,
        *inputs: DataNode | Graph,
        nfilter: int | None = ...,
        sample_rate: float | None = ...,
        freq_low: float | None = ...,
        freq_high: float | None = ...,
        mel_formula: Literal['slaney', 'htk'] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        normalize: bool | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Converts a spectrogram to a mel spectrogram by applying a bank of triangular filters."""
    def mfcc(
        self,
        *inputs: DataNode | Graph,
        n_mfcc: int | None = ...,
        dct_type: int | None = ...,
        lifter: float | None = ...,
        axis: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        normalize: bool | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Computes Mel Frequency Cepstral Coefficients (MFCC) from a mel spectrogram."""
    def multi_paste(
        self,
        *inputs: DataNode | Graph,
        in_ids: int | Sequence[int] | DataNode | None = ...,
        output_size: int | Sequence[int] | DataNode | None = ...,
        out_anchors: int | DataNode | None = ...,
        shapes: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        in_anchors: int | DataNode | None = ...,
        in_anchors_rel: float | DataNode | None = ...,
        out_anchors_rel: float | DataNode | None = ...,
        preserve: bool | None = ...,
        shapes_rel: float | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs multiple pastes from image batch to each of the outputs."""
    def nonsilent_region(
        self,
        *inputs: DataNode | Graph,
        cutoff_db: float | None = ...,
        window_length: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        reference_power: float | None = ...,
        reset_interval: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Performs leading and trailing silence detection in an audio buffer."""
    def normalize(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        mean: float | DataNode | None = ...,
        stddev: float | DataNode | None = ...,
        scale: float | None = ...,
        shift: float | None = ...,
        dtype: DataType | None = ...,
        batch: bool | None = ...,
        epsilon: float | None = ...,
        ddof: int | None = ...,
        axes: int | Sequence[int] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Normalizes the input by removing the mean and dividing by the standard deviation."""
    def one_hot(
        self,
        *inputs: DataNode | Graph,
        num_classes: int | None = ...,
        on_value: float | None = ...,
        off_value: float | None = ...,
        dtype: DataType | None = ...,
        axis: int | None = ...,
        axis_name: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a one-hot encoding of the input."""
    def ones(
        self,
        *inputs: DataNode | Graph,
        shape: int | Sequence[int] | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data of given shape and type, filled with ones."""
    def ones_like(
        self,
        *inputs: DataNode | Graph,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data with the same shape, type and layout as the input array, filled with ones."""
    def optical_flow(
        self,
        *inputs: DataNode | Graph,
        preset: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        enable_external_hints: bool | None = ...,
        enable_temporal_hints: bool | None = ...,
        hint_grid: int | None = ...,
        image_type: ImageType | None = ...,
        output_format: int | None = ...,
        output_grid: int | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Calculates the optical flow between images in the input."""
    def pad(
        self,
        *inputs: DataNode | Graph,
        axis_names: str | None = ...,
        align: int | Sequence[int] | DataNode | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        fill_value: float | DataNode | None = ...,
        axes: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Pads all samples with the fill_value in the specified axes to match the biggest extent in the batch for those axes or to match the minimum shape specified."""
    def paste(
        self,
        *inputs: DataNode | Graph,
        ratio: float | DataNode = ...,
        fill_value: int | Sequence[int] = ...,
        paste_x: float | DataNode | None = ...,
        paste_y: float | DataNode | None = ...,
        min_canvas_size: float | DataNode | None = ...,
        n_channels: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Pastes the input images on a larger canvas, where the canvas size is equal to input size * ratio."""
    def peek_image_shape(
        self,
        *inputs: DataNode | Graph,
        adjust_orientation: bool | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        image_type: ImageType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Obtains the shape of the encoded image."""
    def per_frame(
        self,
        *inputs: DataNode | Graph,
        replace: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Marks the input tensor as a sequence."""
    def permute_batch(
        self,
        *inputs: DataNode | Graph,
        indices: int | Sequence[int] | DataNode = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns a batch of tensors constructed by selecting tensors from the input based on indices given in indices argument"""
    def power_spectrum(
        self,
        *inputs: DataNode | Graph,
        nfft: int | None = ...,
        power: int | None = ...,
        axis: int | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Calculates power spectrum of the signal."""
    def preemphasis_filter(
        self,
        *inputs: DataNode | Graph,
        preemph_coeff: float | DataNode | None = ...,
        border: Literal['zero', 'clamp', 'reflect'] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies preemphasis filter to the input data."""
    def rand_augment(
        self,
        *inputs: DataNode | Graph,
        n: int = ...,
        m: int = ...,
        num_magnitude_bins: int | None = ...,
        monotonic_mag: bool | None = ...,
        excluded: Literal['translate_x', 'translate_y', 'shear_x', 'shear_y', 'rotate', 'brightness', 'contrast', 'color', 'sharpness', 'posterize', 'solarize', 'equalize', 'auto_contrast', 'identity'] | Sequence[Literal['translate_x', 'translate_y', 'shear_x', 'shear_y', 'rotate', 'brightness', 'contrast', 'color', 'sharpness', 'posterize', 'solarize', 'equalize', 'auto_contrast', 'identity']] | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        max_translate_abs: int | Sequence[int] | None = ...,
        max_translate_rel: float | Sequence[float] | None = ...,
        fill_value: int | None = ...,
        interp_type: InterpType2 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Several random augmentations out of 14 for each sample, all with the same magnitude (arXiv 1909.13719)."""
    def random_bbox_crop(
        self,
        *inputs: DataNode | Graph,
        aspect_ratio: float | Sequence[float] | None = ...,
        scaling: float | Sequence[float] | None = ...,
        thresholds: float | Sequence[float] | None = ...,
        threshold_type: Literal['iou', 'overlap'] | None = ...,
        allow_no_crop: bool | None = ...,
        total_num_attempts: int | None = ...,
        all_boxes_above_threshold: bool | None = ...,
        bbox_layout: str | None = ...,
        bbox_prune_threshold: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        crop_shape: int | Sequence[int] | DataNode | None = ...,
        input_shape: int | Sequence[int] | DataNode | None = ...,
        ltrb: bool | None = ...,
        num_attempts: int | None = ...,
        output_bbox_indices: bool | None = ...,
        preserve: bool | None = ...,
        quiet: bool | None = ...,
        shape_layout: str | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Applies a prospective random crop to an image coordinate space while keeping the bounding boxes, and optionally labels, consistent."""
    def random_crop_generator(
        self,
        *inputs: DataNode | Graph,
        random_area: float | Sequence[float] | None = ...,
        random_aspect_ratio: float | Sequence[float] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        num_attempts: int | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> tuple[DataNode, ...]:
        """Produces a cropping window with a randomly selected area and aspect ratio."""
    def random_resized_crop(
        self,
        *inputs: DataNode | Graph,
        size: int | Sequence[int] = ...,
        random_area: float | Sequence[float] | None = ...,
        random_aspect_ratio: float | Sequence[float] | None = ...,
        interp_type: InterpType | DataNode | None = ...,
        antialias: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        mag_filter: InterpType | DataNode | None = ...,
        min_filter: InterpType | DataNode | None = ...,
        minibatch_size: int | None = ...,
        num_attempts: int | None = ...,
        preserve: bool | None = ...,
        temp_buffer_hint: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a crop with a randomly selected area and aspect ratio and resizes it to the specified size."""
    def reinterpret(
        self,
        *inputs: DataNode | Graph,
        layout: str | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        src_dims: int | Sequence[int] | DataNode | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Treats content of the input as if it had a different type, shape, and/or layout."""
    def request(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Encoded images sent by another program, such as a Triton client."""
    def reshape(
        self,
        *inputs: DataNode | Graph,
        layout: str | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | DataNode | None = ...,
        src_dims: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Treats content of the input as if it had a different shape and/or layout."""
    def resize(
        self,
        *inputs: DataNode | Graph,
        size: float | Sequence[float] | DataNode | None = ...,
        resize_shorter: float | DataNode | None = ...,
        resize_longer: float | DataNode | None = ...,
        resize_x: float | DataNode | None = ...,
        resize_y: float | DataNode | None = ...,
        resize_z: float | DataNode | None = ...,
        mode: Literal['default', 'stretch', 'not_larger', 'not_smaller'] | None = ...,
        interp_type: InterpType | DataNode | None = ...,
        antialias: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        image_type: ImageType | None = ...,
        mag_filter: InterpType | DataNode | None = ...,
        max_size: float | Sequence[float] | None = ...,
        min_filter: InterpType | DataNode | None = ...,
        minibatch_size: int | None = ...,
        preserve: bool | None = ...,
        roi_end: float | Sequence[float] | DataNode | None = ...,
        roi_relative: bool | None = ...,
        roi_start: float | Sequence[float] | DataNode | None = ...,
        subpixel_scale: bool | None = ...,
        temp_buffer_hint: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Resize images."""
    def resize_crop_mirror(
        self,
        *inputs: DataNode | Graph,
        resize_shorter: float | DataNode | None = ...,
        resize_longer: float | DataNode | None = ...,
        size: float | Sequence[float] | DataNode | None = ...,
        resize_x: float | DataNode | None = ...,
        resize_y: float | DataNode | None = ...,
        resize_z: float | DataNode | None = ...,
        crop: float | Sequence[float] | DataNode | None = ...,
        crop_pos_x: float | DataNode | None = ...,
        crop_pos_y: float | DataNode | None = ...,
        mirror: int | DataNode | None = ...,
        mode: Literal['default', 'stretch', 'not_larger', 'not_smaller'] | None = ...,
        interp_type: InterpType | DataNode | None = ...,
        antialias: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        crop_d: float | DataNode | None = ...,
        crop_h: float | DataNode | None = ...,
        crop_pos_z: float | DataNode | None = ...,
        crop_w: float | DataNode | None = ...,
        dtype: DataType | None = ...,
        mag_filter: InterpType | DataNode | None = ...,
        max_size: float | Sequence[float] | None = ...,
        min_filter: InterpType | DataNode | None = ...,
        minibatch_size: int | None = ...,
        preserve: bool | None = ...,
        roi_end: float | Sequence[float] | DataNode | None = ...,
        roi_relative: bool | None = ...,
        roi_start: float | Sequence[float] | DataNode | None = ...,
        rounding: Literal['round', 'truncate'] | None = ...,
        subpixel_scale: bool | None = ...,
        temp_buffer_hint: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a fused resize, crop, mirror operation."""
    def roi_random_crop(
        self,
        *inputs: DataNode | Graph,
        crop_shape: int | Sequence[int] | DataNode = ...,
        roi_start: int | Sequence[int] | DataNode = ...,
        roi_shape: int | Sequence[int] | DataNode | None = ...,
        roi_end: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        in_shape: int | Sequence[int] | DataNode | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a fixed shape cropping window, randomly placed so that as much of the provided region of interest (ROI) is contained in it."""
    def rotate(
        self,
        *inputs: DataNode | Graph,
        angle: float | DataNode = ...,
        fill_value: float | None = ...,
        keep_size: bool | None = ...,
        interp_type: InterpType2 | None = ...,
        size: float | Sequence[float] | DataNode | None = ...,
        axis: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        output_dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Rotates the images by the specified angle."""
    def saturation(
        self,
        *inputs: DataNode | Graph,
        saturation: float | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        image_type: ImageType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Changes the saturation level of the image."""
    def sequence_rearrange(
        self,
        *inputs: DataNode | Graph,
        new_order: int | Sequence[int] | DataNode = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Rearranges frames in a sequence."""
    def shape(
        self,
        *inputs: DataNode | Graph,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """The shape of an array, such as height, width and channels of an image."""
    def slice(
        self,
        *inputs: DataNode | Graph,
        rel_start: float | Sequence[float] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | DataNode | None = ...,
        rel_end: float | Sequence[float] | DataNode | None = ...,
        start: int | Sequence[int] | DataNode | None = ...,
        end: int | Sequence[int] | DataNode | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        axis_names: str | None = ...,
        out_of_bounds_policy: Literal['error', 'pad', 'constant', 'edge', 'clamp', 'reflect', 'reflect_1001', 'reflect_101', 'wrap', 'trim_to_shape'] | None = ...,
        dtype: DataType | None = ...,
        axes: int | Sequence[int] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        fill_values: float | Sequence[float] | None = ...,
        image_type: ImageType | None = ...,
        normalized_anchor: bool | None = ...,
        normalized_shape: bool | None = ...,
        output_dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Extracts a subtensor, or slice."""
    def spectrogram(
        self,
        *inputs: DataNode | Graph,
        nfft: int | None = ...,
        window_length: int | None = ...,
        window_step: int | None = ...,
        power: int | None = ...,
        layout: Literal['ft', 'tf'] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        center_windows: bool | None = ...,
        preserve: bool | None = ...,
        reflect_padding: bool | None = ...,
        window_fn: float | Sequence[float] | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Produces a spectrogram from a 1D signal (for example, audio)."""
    def sphere(
        self,
        *inputs: DataNode | Graph,
        interp_type: InterpType | None = ...,
        fill_value: float | None = ...,
        mask: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a sphere augmentation."""
    def squeeze(
        self,
        *inputs: DataNode | Graph,
        axes: int | Sequence[int] | DataNode | None = ...,
        axis_names: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Removes the dimensions given as axes or axis_names."""
    def stack(
        self,
        *inputs: DataNode | Graph,
        axis: int | None = ...,
        axis_name: str | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Joins the input tensors along a new axis."""
    def subscript(
        self,
        *inputs: DataNode | Graph,
        index: str = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Part of an array, with Python's indexing syntax."""
    def tensor_resize(
        self,
        *inputs: DataNode | Graph,
        sizes: float | Sequence[float] | DataNode | None = ...,
        scales: float | Sequence[float] | DataNode | None = ...,
        axis_names: str | None = ...,
        mode: Literal['default', 'stretch', 'not_larger', 'not_smaller'] | None = ...,
        interp_type: InterpType | DataNode | None = ...,
        size_rounding: Literal['round', 'truncate', 'ceil'] | None = ...,
        alignment: float | Sequence[float] | DataNode | None = ...,
        antialias: bool | None = ...,
        axes: int | Sequence[int] | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        mag_filter: InterpType | DataNode | None = ...,
        max_size: float | Sequence[float] | None = ...,
        min_filter: InterpType | DataNode | None = ...,
        minibatch_size: int | None = ...,
        preserve: bool | None = ...,
        roi_end: float | Sequence[float] | DataNode | None = ...,
        roi_relative: bool | None = ...,
        roi_start: float | Sequence[float] | DataNode | None = ...,
        subpixel_scale: bool | None = ...,
        temp_buffer_hint: int | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Resize tensors."""
    def to_decibels(
        self,
        *inputs: DataNode | Graph,
        multiplier: float | None = ...,
        reference: float | None = ...,
        cutoff_db: float | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Converts a magnitude (real, positive) to the decibel scale."""
    def transpose(
        self,
        *inputs: DataNode | Graph,
        perm: int | Sequence[int] | None = ...,
        transpose_layout: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        output_layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Transposes the tensors by reordering the dimensions based on the perm parameter."""
    def trivial_augment_wide(
        self,
        *inputs: DataNode | Graph,
        num_magnitude_bins: int | None = ...,
        excluded: Literal['translate_x', 'translate_y', 'shear_x', 'shear_y', 'rotate', 'brightness', 'contrast', 'color', 'sharpness', 'posterize', 'solarize', 'equalize', 'auto_contrast', 'identity'] | Sequence[Literal['translate_x', 'translate_y', 'shear_x', 'shear_y', 'rotate', 'brightness', 'contrast', 'color', 'sharpness', 'posterize', 'solarize', 'equalize', 'auto_contrast', 'identity']] | None = ...,
        shape: int | Sequence[int] | DataNode | None = ...,
        max_translate_abs: int | Sequence[int] | None = ...,
        max_translate_rel: float | Sequence[float] | None = ...,
        fill_value: int | None = ...,
        interp_type: InterpType2 | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """One random augmentation out of 14 for each sample, with a random magnitude (arXiv 2103.10158)."""
    def warp_affine(
        self,
        *inputs: DataNode | Graph,
        matrix: float | Sequence[float] | DataNode | None = ...,
        fill_value: float | None = ...,
        interp_type: InterpType2 | None = ...,
        inverse_map: bool | None = ...,
        size: float | Sequence[float] | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        dtype: DataType | None = ...,
        output_dtype: DataType | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Applies an affine transformation to the images."""
    def water(
        self,
        *inputs: DataNode | Graph,
        ampl_x: float | None = ...,
        ampl_y: float | None = ...,
        freq_x: float | None = ...,
        freq_y: float | None = ...,
        phase_x: float | None = ...,
        phase_y: float | None = ...,
        interp_type: InterpType | None = ...,
        mask: int | DataNode | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        fill_value: float | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Performs a water augmentation, which makes the image appear to be underwater."""
    def zeros(
        self,
        *inputs: DataNode | Graph,
        shape: int | Sequence[int] | DataNode | None = ...,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        layout: str | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data of given shape and type, filled with zeros."""
    def zeros_like(
        self,
        *inputs: DataNode | Graph,
        dtype: DataType | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        preserve: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> R:
        """Returns new data with the same shape, type and layout as the input array, filled with zeros."""

class GraphMethods(Operators[Graph]):
    def __getitem__(self, node_id: str) -> NodeHandle: ...
    def __call__(self, image: object, *, draw: int = 0, label: int | None = None) -> Any: ...
    def batch(
        self, number: int = 0, samples: int | None = None, data: Data | None = None
    ) -> OutputBatch: ...
    def show(
        self,
        data: Data | None = None,
        *,
        batch: int = 0,
        rows: int | None = None,
        figsize: tuple[float, float] | None = None,
        output: str = "",
    ) -> None: ...
    def save(self, path: str | Path) -> Path: ...
    def diff(self, other: Graph) -> GraphDifferences: ...
    def with_p(self, p: float | DataNode, apply: Apply) -> Graph: ...
    def if_else(
        self, condition: DataNode, then: Apply, otherwise: Apply | None = None
    ) -> Graph: ...
    def one_of(self, *options: Apply, weights: Sequence[float] | None = None) -> Graph: ...
    def some_of(self, count: int, *options: Apply, shuffled: bool = False) -> Graph: ...
    def repeat(
        self, times: int | DataNode, apply: Apply, *, most: int | None = None
    ) -> Graph: ...
    def named(self, name: str, about: str = "") -> Graph: ...
    def __getattr__(self, name: str) -> DataNode: ...  # the graph's outputs
    def with_settings(
        self,
        *,
        batch_size: int = ...,
        num_threads: int = ...,
        seed: int = ...,
        device: DecodeDevice = ...,
        prefetch_queue_depth: int = ...,
        pipelines: int = ...,
        executor: Executor = ...,
    ) -> Graph: ...
    def decode(
        self,
        *inputs: DataNode | Graph,
        output_type: ImageType | None = ...,
        adjust_orientation: bool | None = ...,
        dtype: DataType | None = ...,
        hw_decoder_load: float | None = ...,
        cache_size: int | None = ...,
        cache_threshold: int | None = ...,
        cache_type: Literal['', 'threshold', 'largest'] | None = ...,
        preallocate_height_hint: int | None = ...,
        preallocate_width_hint: int | None = ...,
        affine: bool | None = ...,
        bytes_per_sample_hint: int | Sequence[int] | None = ...,
        cache_batch_copy: bool | None = ...,
        cache_debug: bool | None = ...,
        device_memory_padding: int | None = ...,
        device_memory_padding_jpeg2k: int | None = ...,
        host_memory_padding: int | None = ...,
        host_memory_padding_jpeg2k: int | None = ...,
        hybrid_huffman_threshold: int | None = ...,
        jpeg_fancy_upsampling: bool | None = ...,
        memory_stats: bool | None = ...,
        preserve: bool | None = ...,
        split_stages: bool | None = ...,
        use_chunk_allocator: bool | None = ...,
        use_fast_idct: bool | None = ...,
        seed: int = ...,
        device: str | None = ...,
        name: str = ...,
        p: float | DataNode = ...,
    ) -> Graph:
        """Decodes images."""

class ReaderOptions(TypedDict, total=False):
    additional_inputs: int | None
    affine: bool | None
    annotations_file: str | None
    avoid_class_remapping: bool | None
    bbox: bool | None
    blocking: bool | None
    bytes_per_sample_hint: int | Sequence[int] | None
    cache_header_information: bool | None
    case_sensitive_extensions: bool | None
    case_sensitive_filter: bool | None
    dir_filters: str | Sequence[str] | None
    dont_use_mmap: bool | None
    dtype: str
    dtypes: DataType | Sequence[DataType] | None
    dump_meta_files: bool | None
    dump_meta_files_path: str | None
    enable_frame_num: Literal['none', 'scalar', 'sequence'] | None
    enable_timestamps: bool | None
    ext: str | Sequence[str]
    fields: str | Sequence[str] | None
    file_filter: str | None
    file_filters: str | Sequence[str] | None
    file_list: str | None
    file_list_format: Literal['frames', 'timestamps'] | None
    file_list_include_end: bool | None
    file_list_rounding: Literal['start_down_end_up', 'start_up_end_down', 'all_up', 'all_down'] | None
    file_root: str | None
    filenames: str | Sequence[str] | None
    files: str | Sequence[str] | None
    fill_value: int | Sequence[int] | None | float
    image_available: bool | None
    image_ids: bool | None
    image_type: ImageType | None
    images: str | Sequence[str] | None
    include_iscrowd: bool | None
    index_path: str | Sequence[str]
    index_paths: str | Sequence[str] | None
    indices: int | Sequence[int] | None
    initial_fill: int | None
    label_available: bool | None
    label_type: int | None
    label_width: int
    labels: int | Sequence[int] | None
    last_sequence_policy: Literal['partial', 'pad'] | None
    layout: str | None
    lazy_init: bool | None
    ltrb: bool | None
    masks: bool | None
    meta_files_path: str | None
    missing_component_behavior: Literal['', 'empty', 'skip', 'error'] | None
    no_copy: bool | None
    num_labels: int | None
    num_samples: int | None
    num_shards: int | None
    out_of_bounds_policy: Literal['error', 'pad', 'trim_to_shape'] | None
    pad_last_batch: bool | None
    pad_mode: Literal['none', 'constant', 'edge', 'reflect_1001', 'reflect_101'] | DataNode | None
    paths: str | Sequence[str]
    pixelwise_masks: bool | None
    polygon_masks: bool | None
    prefetch_queue_depth: int | None
    preprocessed_annotations: str | None
    preserve: bool | None
    random_shuffle: bool | None
    ratio: bool | None
    read_ahead: bool | None
    register_buffers: bool | None
    rel_roi_end: float | Sequence[float] | DataNode | None
    rel_roi_shape: float | Sequence[float] | DataNode | None
    rel_roi_start: float | Sequence[float] | DataNode | None
    repeats: int | None
    replacement: bool | None
    roi_axes: int | Sequence[int] | None
    roi_end: int | Sequence[int] | DataNode | None
    roi_shape: int | Sequence[int] | DataNode | None
    roi_start: int | Sequence[int] | DataNode | None
    sample_weights: float | Sequence[float] | None
    save_img_ids: bool | None
    save_preprocessed_annotations: bool | None
    save_preprocessed_annotations_dir: str | None
    seed: int
    sequence_length: int
    shape: int | Sequence[int]
    shard_id: int | None
    shuffle_after_epoch: bool | None
    shuffle_after_epoch_seed: int | None
    size_threshold: float | None
    skip_cached_images: bool | None
    skip_empty: bool | None
    step: int | None
    stick_to_shard: bool | None
    stride: int | None
    tensor_init_bytes: int | None
    uniform_sample: bool | None
    use_o_direct: bool | None
