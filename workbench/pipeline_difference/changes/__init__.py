"""Changes of a pipeline (to arguments, decoding or results) that may explain a difference."""
