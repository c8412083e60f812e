"""Needs a library that is not installed."""

import a_library_that_nobody_has  # noqa: F401
