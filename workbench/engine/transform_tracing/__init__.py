"""Find compositions of other libraries in a script by recording their calls."""
