"""Build DALI pipelines from generated code: plan of a run, its parts, automatic augmentation."""
