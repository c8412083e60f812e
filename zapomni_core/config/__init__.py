"""Finds and reads the settings, and knows where each value came from."""

from zapomni_core.config.files import settings_file
from zapomni_core.config.loading import Config, load

__all__ = ["Config", "load", "settings_file"]
