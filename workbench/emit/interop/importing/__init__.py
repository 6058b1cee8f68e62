"""What the importers of all libraries share: images of a graph, and what is done to them."""
