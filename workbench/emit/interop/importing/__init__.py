"""Code that the importers of all libraries share: the images of a graph, and operations on them."""
