"""The view-model and its panels, and the two hosts that show them: web app and notebook."""
