"""Render a graph to a dataset version: files with augmented samples, and a manifest.

``plan`` divides the data into splits, copies and shards. ``shard`` renders one shard, ``render``
runs all of them in processes, and ``manifest`` describes the result. ``formats`` has the file
formats, and ``proof`` renders shards again and compares the bytes.
"""
