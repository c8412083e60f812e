"""Finds and loads the settings, with the origin of each value."""

from zapomni_core.config.config import Config, load
from zapomni_core.config.sources import settings_file

__all__ = ["Config", "load", "settings_file"]
