"""A graph in the transforms of another library, for machines without DALI.

``steps`` reads the graph, ``library`` writes it by a table of rules, and each library is a module
with its table.
"""
