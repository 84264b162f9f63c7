"""How Sphinx builds the site; `make docs` runs it on the sources that docs/building writes."""

import os
import sys
import warnings
from pathlib import Path

import gapless

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for docs.building

project = "gapless"
author = copyright = "The gapless developers"
release = version = gapless.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "docs.building.docstrings",
]
root_doc = "index"
# A name in single quotes that is public leads to its page; any other is code.
default_role = "py:obj"
highlight_language = "none"
# Examples of nothing but prompts are right as they are; strings with formulas are not Python.
suppress_warnings = ["misc.highlighting_failure", "config.cache"]

# Headings can be linked to as on a code host: page.md#a-heading.
myst_heading_anchors = 4

# Each class shows its members on its own page, in the tables that autosummary makes.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
templates_path = [str(ROOT / "docs" / "templates")]

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples")],
    "gallery_dirs": ["gallery"],
    "ignore_pattern": r"/notebooks/|__init__",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("docs.building.pictures.shown_figures",),
    "plot_gallery": os.environ.get("GALLERY", "yes") != "no",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 60,
    "doc_module": ("gapless",),
    "backreferences_dir": "api/examples",
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "gapless"
html_static_path = ["static"]
html_css_files = ["gapless.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gapless"},
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    # Deeper trees make each page large, and the build slow.
    "navigation_depth": 2,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "benchmarks": [], "glossary": [], "security": []}
