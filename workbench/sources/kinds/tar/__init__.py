"""Tar archives of samples, as WebDataset writes them."""
