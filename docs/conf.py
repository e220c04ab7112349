"""The settings of Sphinx for the documentation site: `make docs` builds it into build/docs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "graphmem"
author = "the graphmem authors"
copyright = "the graphmem authors, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["images"]
root_doc = "index"

html_theme = "furo"
html_title = "graphmem"
html_show_sphinx = False
html_copy_source = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

# A docstring has plain text with `names`; nothing in it is a cross-reference that could break.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 80

# Pygments knows an older Cypher, without parameters in maps.
# `bytes` in a signature is the type, and also the name of fields.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]
