"""Transforms of other libraries: compositions as graphs, and graphs as compositions.

A composition is read as calls (``transform_call``), whether the library is installed or not. Each
library has a table of its transforms (``common/library``), used for both directions and for the
comparison of pixels with the library itself.
"""
