"""Sphinx's settings: everything is local, nothing is dated."""

from __future__ import annotations

from typing import Any

FONTS = {
    "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
}


def settings(title: str) -> dict[str, Any]:
    """The configuration of a site with this title; its folders are named as seen from the stage."""
    return {"project": title, "html_title": title, **_HTML, **_NOTEBOOKS, **_API, **_CITATIONS}


_HTML = {
    "extensions": [
        "myst_nb",
        "sphinx.ext.autodoc",
        "sphinx.ext.napoleon",
        "sphinxcontrib.bibtex",
        "tools.site.extension",
    ],
    "language": "en",
    "highlight_language": "text",
    "html_theme": "furo",
    "html_theme_options": {
        "light_css_variables": FONTS,
        "dark_css_variables": FONTS,
        "top_of_page_buttons": [],
    },
    "html_static_path": ["../static"],
    "html_extra_path": ["../assets"],
    "html_css_files": ["site.css"],
    "html_js_files": [("site.js", {"defer": "defer"})],
    "html_math_renderer": "mathml",
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_last_updated_fmt": None,
    "html_use_index": False,
    "html_domain_indices": False,
    # The summaries are fetched, which a browser refuses to a page that was opened from disk.
    "html_show_search_summary": False,
}

_NOTEBOOKS = {
    "nb_execution_mode": "off",
    "nb_render_markdown_format": "myst",
    "nb_ipywidgets_js": {},
    "nb_merge_streams": True,
    "nb_code_prompt_show": "Show the code",
    "nb_code_prompt_hide": "Hide the code",
    "myst_enable_extensions": ["dollarmath"],
    "myst_dmath_double_inline": True,
    "myst_heading_anchors": 4,
    "myst_links_external_new_tab": False,
}

_API = {
    "default_role": "code",
    "autodoc_typehints": "signature",
    "autodoc_typehints_format": "short",
    "autodoc_member_order": "bysource",
    "autodoc_preserve_defaults": True,
    "autodoc_type_aliases": {"ArrayLike": "ArrayLike"},
    "napoleon_google_docstring": False,
    "napoleon_use_rtype": False,
    "napoleon_use_ivar": True,
    "napoleon_attr_annotations": False,  # the signature has them
    # Two classes may have a field of the same name; a lesson may begin with a small heading.
    "suppress_warnings": ["ref.python", "myst.header"],
    "python_use_unqualified_type_names": True,
    "python_maximum_signature_line_length": 100,
    "toc_object_entries_show_parents": "hide",
}

_CITATIONS = {"bibtex_bibfiles": ["references.bib"], "bibtex_reference_style": "author_year"}
