"""The web app, served by Panel."""
