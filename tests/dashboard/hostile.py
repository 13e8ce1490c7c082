"""Texts that a page must show and never run, and how to see that it did."""

from __future__ import annotations

import re
from html import unescape

HOSTILE = "</script><script>alert(1)</script><svg onload=alert(2)>\"'><img src=x onerror=alert(3)>"
"""What breaks out of an element, an attribute or a script, wherever it is not written as text."""

OURS = re.compile(r'<script src="/ui/static/htmx\.min\.js\?v=[0-9a-f]{12}" defer></script>')


def shows(page, *texts):
    """The page shows these texts, and holds nothing of them as markup."""
    body = OURS.sub("", page.text)
    for mark in ("<script", "<svg onload", "<img src=x", "onerror=alert(3)>"):
        assert mark not in body, mark
    for text in texts:
        assert text in unescape(body), text
