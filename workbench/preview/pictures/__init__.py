"""Arrays as pictures: tiles, sheets, marks, strips of frames, curves of sound."""
