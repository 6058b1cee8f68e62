"""View model, panels, and the two hosts that display them: web app and notebook."""
