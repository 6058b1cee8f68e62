"""User interface: the view model, the panels, and the two hosts (web app and notebook)."""
