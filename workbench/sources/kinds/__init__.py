"""Define the kinds of sources: files and folders, video, sounds, arrays, and images in memory."""
