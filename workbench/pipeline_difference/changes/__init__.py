"""Define changes to a pipeline that may explain how it differs from another pipeline."""
