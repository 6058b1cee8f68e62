"""Find compositions of other libraries in a script by recording calls of these libraries."""
