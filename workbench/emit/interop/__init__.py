"""Transforms of other libraries: compositions to graphs, and graphs to compositions.

A composition is read as calls (``transform_call``), whether the library is installed or not. Each
library has one table of its transforms (``library``): importers, exporters, and how each transform
is compared with the library's own. ``importing`` and ``exporting`` contain what the tables share.
"""
