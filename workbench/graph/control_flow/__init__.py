"""Nodes with bodies: if, one of, some of, repeat, and policies of automatic augmentation."""
