"""One view-model without a toolkit, one table of components, two thin hosts."""
