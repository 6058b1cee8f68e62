"""Answer preview requests, such as for a batch, the steps of a sample, or statistics."""
