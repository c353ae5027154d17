"""How `make docs` builds the site: Sphinx reads the Markdown of the repository and the docstrings."""

import sys
from pathlib import Path

# Sphinx's names, which ruff would like to be constants.
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from gossamer import __version__  # noqa: E402

project = "Gossamer"
author = "The Gossamer developers"
release = version = __version__
html_title = f"Gossamer {release}"
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns = ["examples/**/README.md"]
# Links between pages, and to headings, as GitHub makes them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Docstrings have Markdown's backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": False}
autodoc_typehints = "signature"
