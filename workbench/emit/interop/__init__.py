"""Convert transforms of other libraries to graphs, and graphs to transforms.

Transforms are first converted to calls (``transform_call``), whether the library is installed or
not. Each library has a registry (``library``) of importers, exporters, and rules for comparing
each transform with the library's own. ``importing`` and ``exporting`` contain shared code.
"""
