"""Build DALI pipelines from emitted source: plan of a run, its parts, automatic augmentation."""
