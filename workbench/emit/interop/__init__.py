"""Convert compositions of other libraries to graphs, and graphs to compositions.

A composition is converted to calls (``transform_call``), whether the library is installed or not.
Each library has a registry of its transforms (``library``): importers, exporters, and how each
transform is compared with the library's own. ``importing`` and ``exporting`` contain shared code.
"""
