"""Texts that a page must show and never run, and how to see that it did."""

from __future__ import annotations

import re
from html import unescape

HOSTILE = "</script><script>alert(1)</script><svg onload=alert(2)>\"'><img src=x onerror=alert(3)>"
"""What breaks out of an element, an attribute or a script, wherever it is not written as text."""

OURS = re.compile(r'<script src="/ui/static/htmx\.min\.js\?v=[0-9a-f]{12}" defer></script>')


def unsafe(page, *texts):
    """What is wrong with a page that is to show these texts: those it does not show, and what it holds as markup."""
    body = OURS.sub("", page.text)
    marks = [mark for mark in ("<script", "<svg onload", "<img src=x", "onerror=alert(3)>") if mark in body]
    return marks + [text for text in texts if text not in unescape(body)]


def shows(page, *texts):
    """Whether a page shows these texts and runs nothing of them; what is wrong is told by an assertion."""
    assert unsafe(page, *texts) == []
    return True
