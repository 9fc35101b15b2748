"""The site around the page: site.py OUT adds the report and the docs to the folder OUT."""

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_PICTURES = ("plots/pictures", "web/pictures")  # where the docs look for them
_FIRST = (
    "install",
    "tutorial",
    "fit",
    "run",
    "advice",
    "lora",
    "serving",
    "ci",
    "watch",
    "web",
    "python",
)
_LINKS = '<a href="docs/index.html">Docs</a> · <a href="report/index.html">Report</a> · '


def _within(match: re.Match[str]) -> str:
    """A link to another of the docs; what lies outside of the site is no link there."""
    target, mark, anchor = match[1].partition("#")
    if target.startswith("http") or not target:
        return match[0]
    if "/" not in target and target.endswith(".md"):
        return f'href="{target.removesuffix(".md")}.html{mark}{anchor}"'
    return f'title="{target} in the repository"'


def _title(text: str) -> str:
    return next(line.lstrip("# ") for line in text.splitlines() if line.startswith("# "))


def _says(text: str) -> str:
    """The line below a page's title, as plain text: what it is of."""
    line = next(line for line in text.splitlines()[1:] if line)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|`([^`]*)`", lambda match: match[1] or match[2], line)


def _unbroken(match: re.Match[str]) -> str:
    """Flags within a line of text: browsers break them after their hyphens."""
    return re.sub(r"--[\w-]+", r'<span class="unbroken">\g<0></span>', match[0])


def _page(title: str, says: str, body: str) -> str:
    parts = {"title": html.escape(title), "says": html.escape(says), "body": body}
    template = (_HERE / "docs.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def docs(site: Path) -> None:
    """Each of docs/ as HTML, a list of them, and the pictures that they show."""
    out = site / "docs"
    out.mkdir(parents=True, exist_ok=True)
    for folder in _PICTURES:
        shutil.copytree(_ROOT / folder, site / folder, dirs_exist_ok=True)
    markdown = MarkdownIt("commonmark").enable("table")
    pages = {}
    for path in sorted((_ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        pages[path.stem] = (_title(text), _says(text))
        body = re.sub(r'href="([^"]*)"', _within, markdown.render(text))
        body = re.sub(r"(?<!<pre>)<code>.*?</code>", _unbroken, body)
        # What may have to be moved sideways can be reached by keyboard.
        body = body.replace("<pre>", '<pre tabindex="0">').replace("</table>", "</table></div>")
        body = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", body)  # names no column
        body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>')
        (out / f"{path.stem}.html").write_text(_page(*pages[path.stem], body), encoding="utf-8")
    first = [stem for stem in _FIRST if stem in pages]
    items = [
        f'<li><a href="{stem}.html">{html.escape(title)}</a><br>{html.escape(says)}'
        for stem in (*first, *sorted(pages.keys() - {*first}))
        for title, says in (pages[stem],)
    ]
    page = _page("Docs", "What to read about what.", f"<h1>Docs</h1><ul>{''.join(items)}</ul>")
    (out / "index.html").write_text(page, encoding="utf-8")


def main() -> None:
    out = Path(sys.argv[1])
    docs(out)
    shutil.copytree(_ROOT / "build/report", out / "report", dirs_exist_ok=True)
    page = out / "index.html"
    page.write_text(
        page.read_text(encoding="utf-8").replace("<!-- links -->", _LINKS), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
