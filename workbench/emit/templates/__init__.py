"""The text around the pipeline function, shared by the targets."""
