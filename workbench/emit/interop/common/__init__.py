"""What the tables of all libraries share: images, chains of steps, writing of calls."""
