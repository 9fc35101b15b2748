"""Pages, and what they are filled in with."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from vramfit_plots.tables import html_table

FOLDER = Path(__file__).resolve().parent


def environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("vramfit_plots"),
        autoescape=jinja2.select_autoescape(["html.j2"], default_for_string=False),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["html_table"] = lambda table: Markup(html_table(table))
    return found
