"""List the mistakes that servers make, each with a description and a fix for the manifest."""

from __future__ import annotations

_NORMALISE = "Apply the mean and std of the graph."
_TO_RGB = 'Convert the decoded image: image.convert("RGB").'
_RESIZE = "Resize and crop as the graph does."
_INTERPOLATION = "Use the interpolation of the graph."
_DROP_ALPHA = 'Drop alpha: image.convert("RGBA").convert("RGB").'

RECOGNISED: dict[str, tuple[str, str]] = {
    "extra_batch": (
        "an additional batch dimension",
        "Return the array of one image; if the model expects a batch, use --batched.",
    ),
    "missing_batch": ("the batch dimension is missing", "Return array[None]."),
    "layout": ("axes in another order (HWC and CHW)", "Transpose the array."),
    "reshaped": ("reshaped instead of transposed", "Use transpose, which moves the values."),
    "axes_swapped": ("height and width are swapped", "Transpose height and width."),
    "mirrored": ("mirrored left to right", "Remove the flip, which is for training only."),
    "upside_down": ("upside down", "Remove the vertical flip."),
    "shifted": ("the crop is off by one pixel", "Round the crop's position as the graph does."),
    "bgr": ("channels in reverse order (BGR for RGB)", "Reverse the channels after decoding."),
    "dtype": ("another element type", "Convert the array before it is returned."),
    "one_channel": ("one channel only", _TO_RGB),
    "no_channel_axis": ("the channel axis is missing", "Add an axis of size 1."),
    "alpha_channel": ("a fourth channel", _TO_RGB),
    "shape": ("another shape", _RESIZE),
    "not_finite": ("NaN or infinite values", "Check the normalisation."),
    "failed": ("the server fails", "Handle these images: see the errors above."),
    "0..255": ("values 0..255, not normalised", _NORMALISE),
    "0..1": ("values 0..1, not normalised as in the graph", _NORMALISE),
    "-1..1": ("values -1..1, not normalised as in the graph", _NORMALISE),
    "no_mean": ("the mean is not subtracted", "Subtract the mean."),
    "no_std": ("not divided by the standard deviation", "Divide by it."),
    "only_mean": (
        "only the mean is subtracted, without a division",
        "Divide by the standard deviation.",
    ),
    "not_divided": (
        "mean and std of values 0..1 applied to values 0..255",
        "Divide by 255 before the normalisation.",
    ),
    "divided_twice": (
        "mean and std of values 0..255 applied to values 0..1",
        "Remove the division by 255 before the normalisation.",
    ),
    "normalised_twice": ("normalised twice", "Normalise either in the server or in the model."),
    "reversed_mean": ("mean and std in reverse channel order", "Reverse their order."),
    "imagenet": ("normalised with mean and std of ImageNet", _NORMALISE),
    "scaled": ("a linear function of the expected values", "Compare the normalisation."),
    "unknown": ("an unknown difference", "Compare the steps of the server and of the graph."),
}
"""Description and fix of each mistake that ``check.py`` recognises without stored tensors."""

STORED: dict[str, tuple[str, str]] = {
    "orientation_ignored": (
        "the Exif orientation is ignored",
        "Apply it, for example ImageOps.exif_transpose(image).",
    ),
    "alpha_dropped": ("alpha is dropped, unlike in the graph", "Composite as the graph does."),
    "alpha_on_black": (
        "transparent images are composited on black",
        _DROP_ALPHA,
    ),
    "alpha_on_white": (
        "transparent images are composited on white",
        _DROP_ALPHA,
    ),
    "bits_not_scaled": ("the values of 1-bit images are 0 and 1", "Convert to 0 and 255."),
    "cmyk_inverted": ("CMYK is inverted", "Invert the channels of Adobe CMYK files."),
    "palette_ignored": ("palette indices are used as grey values", "Apply the palette."),
    "sixteen_bit_clipped": ("16-bit values are clipped to 255", "Divide them by 257."),
    "sixteen_bit_low_byte": ("the low byte of 16-bit values is used", "Divide them by 257."),
    **dict.fromkeys(
        ("reduced_2", "reduced_4", "reduced_8"),
        ("JPEGs are decoded at a reduced size", "Do not use draft mode or scaled decoding."),
    ),
    "profile_applied": ("the colour profile is applied", "Ignore it, as the graph does."),
    "no_antialias": (
        "resized without antialiasing",
        "Use antialias=True, or Pillow instead of OpenCV.",
    ),
    "nearest": ("resized with nearest neighbour", _INTERPOLATION),
    "linear": ("resized with linear interpolation", _INTERPOLATION),
    "cubic": ("resized with cubic interpolation", _INTERPOLATION),
    "lanczos": ("resized with a Lanczos filter", _INTERPOLATION),
    "area": ("resized by averaging areas", _INTERPOLATION),
    "stretched": (
        "stretched to the output size, which changes the aspect ratio",
        _RESIZE,
    ),
    "stretched_aliased": (
        "stretched to the output size without antialiasing",
        _RESIZE,
    ),
    "stretched_cubic": (
        "stretched to the output size with cubic interpolation, Pillow's default",
        _RESIZE,
    ),
    "stretched_then_cropped": (
        "stretched to a square before the crop",
        "Resize the shorter side only.",
    ),
    "no_margin": (
        "the shorter side is resized to the output size, without the margin of the crop",
        "Resize to the size of the graph before the crop.",
    ),
    "longer_side": (
        "the longer side is resized and the rest padded",
        "Resize the shorter side.",
    ),
    "not_resized": ("cropped without a resize", "Resize before the crop."),
    "corner": ("cropped at the upper left corner", "Crop the centre."),
    "crop_rounded": (
        "the position of the crop is rounded down instead of up",
        "Add a half before truncating: int((side - crop) / 2 + 0.5).",
    ),
    "torchvision": (
        "size and position of the crop are rounded as in torchvision",
        "Round the longer side, and halves of the crop's position up.",
    ),
}
"""Description and fix of each mistake for which ``check.py`` needs tensors stored by ``packing``.
"""
