"""Pages, and what they are filled in with."""

import base64

import jinja2
from markupsafe import Markup

from vramfit_plots.tables import html_table, markdown_fragment


def environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("vramfit_plots"),
        autoescape=jinja2.select_autoescape(["html.j2"], default_for_string=False),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["html_table"] = lambda table: Markup(html_table(table))
    found.filters["markdown"] = markdown_fragment
    found.filters["data_uri"] = lambda svg: (
        "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    )
    return found
