"""How Sphinx builds the site: `sphinx-build -W docs DIR`."""

import sys
from pathlib import Path

import onegrad

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "onegrad"
author = copyright = "The onegrad authors"
version = release = onegrad.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "onegrad_pages",
]
exclude_patterns = ["_build", "jupyter_execute"]
nitpicky = False
needs_sphinx = "7.4"

# Pages: GitHub's links to headings work here too; `#anchor` of any heading of levels 1 to 3.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]

# Tutorials run when they are built, from nothing, and an error ends the build.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_in_temp = True
nb_merge_streams = True
nb_output_stderr = "remove"  # warnings name files of the machine that builds
nb_number_source_lines = False

autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
viewcode_line_numbers = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "onegrad"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "source_directory": "docs/",
    "top_of_page_buttons": [],
}
