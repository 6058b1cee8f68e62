"""A pipeline that DALI has traced, as a graph."""
