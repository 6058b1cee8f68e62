"""Who may use the web app: by which host and origin, and with which token."""

from workbench.ui.access.browser import open_in_browser
from workbench.ui.access.cookie import AccessCookie
from workbench.ui.access.handlers import Access, guard
from workbench.ui.access.policy import AccessPolicy

__all__ = ["Access", "AccessCookie", "AccessPolicy", "guard", "open_in_browser"]
