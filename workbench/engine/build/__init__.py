"""Emitted source to built DALI pipelines: the plan of a run, its parts, automatic augmentation."""
