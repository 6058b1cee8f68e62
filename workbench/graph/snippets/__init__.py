"""Templates and snippets: several nodes that are added under one name."""
