"""Find faults and warnings of a graph without running it."""
