"""Templates and blocks: several nodes that are added under one name."""
