"""The view model: dispatch of actions, publishing of fields, and the session."""
