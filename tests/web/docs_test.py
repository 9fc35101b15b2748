"""The list of the docs as pages; how they look is in tests/plots/look_test.py."""

import html
import re
from importlib.util import module_from_spec, spec_from_file_location

from page import ROOT


def test_the_list_says_of_each_what_it_is(tmp_path):
    # web/site.py makes them. The standard library has a module of its name.
    spec = spec_from_file_location("vramfit_site", ROOT / "web/site.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.docs(tmp_path)
    docs = tmp_path / "docs"
    index = (docs / "index.html").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        says = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", page.read_text().split("\n\n")[1])
        says = says.replace("`", "")
        assert f'<a href="{page.stem}.html">' in index
        assert f"<br>{html.escape(says)}" in index
    assert index.index("tutorial.html") < index.index("accuracy.html")
    assert '<meta name="description" content="' in (docs / "tutorial.html").read_text()
