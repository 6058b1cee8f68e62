"""Control access to the web app by allowed hosts, origins and tokens."""

from workbench.ui.access.browser import open_in_browser
from workbench.ui.access.cookie import AccessCookie
from workbench.ui.access.handlers import AccessContext, guard_handlers
from workbench.ui.access.policy import AccessPolicy

__all__ = ["AccessContext", "AccessCookie", "AccessPolicy", "guard_handlers", "open_in_browser"]
