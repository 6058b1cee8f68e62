"""Other graphs made from one: for validation, for inference, with shared seeds, side by side."""
