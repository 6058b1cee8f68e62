"""Changes of one pipeline that may explain a difference: arguments, decoding, processed results."""
