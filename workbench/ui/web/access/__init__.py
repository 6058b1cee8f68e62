"""Who may use the web app: by which host and origin, and with which token."""

from workbench.ui.web.access.browser import open_in_browser
from workbench.ui.web.access.cookie import AccessCookie
from workbench.ui.web.access.handlers import AccessContext, guard_handlers
from workbench.ui.web.access.policy import AccessPolicy

__all__ = ["AccessContext", "AccessCookie", "AccessPolicy", "guard_handlers", "open_in_browser"]
