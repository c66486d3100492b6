"""Configuration of the documentation.

``SKCF_DOCS_INTERSPHINX=1`` links to the documentation of other projects, which needs
the network. ``-D plot_gallery=1`` runs the examples.
"""

import os

import skcf

project = "skcf"
author = "skcf developers"
copyright = "2026, skcf developers"
version = release = skcf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "literal"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

if os.environ.get("SKCF_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "numpy": ("https://numpy.org/doc/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "python": ("https://docs.python.org/3", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

plot_gallery = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"skcf {release}"
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/skcf/skcf",
    "secondary_sidebar_items": ["page-toc"],
}


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn defines: its docstrings refer to its own pages."""
    module = getattr(obj, "__module__", None) or ""
    return True if module.partition(".")[0] == "sklearn" else None


def setup(app):
    app.connect("autodoc-skip-member", skip_member)
