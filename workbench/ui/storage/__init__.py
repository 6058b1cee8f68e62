"""Read and write files of the user interface: sessions, saved snippets and saved samples."""
