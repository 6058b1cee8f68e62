"""Code shared by the importers of all libraries: the images of a graph, and operations on them."""
