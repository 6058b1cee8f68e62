"""Image files: folders, lists, masks beside them, remote files, requests."""
