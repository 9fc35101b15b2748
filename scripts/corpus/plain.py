"""Plain text of what packages hold: pages of HTML, man pages, and what is text already."""

import html
import re

_UNREAD = re.compile(r"<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_BREAKS = re.compile(r"</?(p|div|br|li|ul|ol|tr|table|pre|h[1-6]|dt|dd|dl|section)\b[^>]*>", re.I)
_TAG = re.compile(r"<[^>]*>")
_COMMENT = re.compile(r"^[.']\s*(\\\"|\\$|if\b|ie\b|el\b|de\b|ds\b|nr\b|\.).*$", re.MULTILINE)
_HEADING = re.compile(r"^\.\s*S[HSh]\s*\"?(.*?)\"?\s*$", re.MULTILINE)
_REQUEST = re.compile(r"^[.'][A-Za-z%]+[ \t]*", re.MULTILINE)
_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d+|\\[&|^/,]")
_ESCAPES = {r"\-": "-", r"\e": "\\", r"\(aq": "'", r"\(cq": "'", r"\(oq": "`", r"\(dq": '"'}
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n+")


def of_html(page: str) -> str:
    text = _UNREAD.sub("", page)
    text = _TAG.sub("", _BREAKS.sub("\n", text))
    return html.unescape(text)


def of_man_page(page: str) -> str:
    """Its words, headings on lines of their own; macros and fonts are left out."""
    text = _HEADING.sub(r"\n\1", _COMMENT.sub("", page))
    text = _FONT.sub("", _REQUEST.sub("", text))
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)


def plain(name: str, content: bytes) -> str | None:
    """Of a file with this name, without compression's suffix. None of what is not UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    if name.endswith(".html"):
        text = of_html(text)
    elif "/man/man" in name:
        text = of_man_page(text)
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip() + "\n"
