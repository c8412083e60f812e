"""Builds the documentation. The reference is written from the code first, so that it cannot fall behind."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import _generate  # noqa: E402 (the line above makes it findable)

project = "Zapomni"
copyright = "The Zapomni authors"  # noqa: A001 (Sphinx wants this name)
version = release = installed_version("zapomni")
extensions = ["myst_parser"]
exclude_patterns = ["_build", "reference/_generated"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Zapomni"
html_show_sphinx = False


def setup(app: Any) -> None:
    app.connect("builder-inited", lambda built: _generate.write_all(Path(built.srcdir) / "reference" / "_generated"))
