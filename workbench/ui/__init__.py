"""View-model, panels, and the two hosts that show them: web app and notebook."""
