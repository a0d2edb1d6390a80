"""Sphinx configuration."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
release = version = metadata.version("mercer")

extensions = [
    "api_pages",
    "guide_code",
    "kernel_table",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "guide/scikit_learn_differences.md"]  # the latter is included
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
suppress_warnings = ["config.cache"]  # what the pages of classes show is a function

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/](plot_\w+|first_look)\.py$",
    "ignore_pattern": r"[\\/]_",
    "within_subsection_order": "gallery_style.Order",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "reset_modules": ("gallery_style.reset",),
    "image_srcset": ["2x"],
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_sidebars = {"architecture": [], "benchmarks": [], "changelog": [], "index": []}
html_theme_options = {
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
