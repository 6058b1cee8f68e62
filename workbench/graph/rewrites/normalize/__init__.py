"""Rewrites into and out of ``crop_mirror_normalize``."""
