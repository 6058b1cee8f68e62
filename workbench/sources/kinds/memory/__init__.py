"""Images that Python gives: arrays, tensors, data sets, data frames."""
