"""Finds, loads, shows and edits the settings, and knows where each value came from."""

from zapomni_mcp.config.editing import edit_plugin_switch
from zapomni_mcp.config.files import settings_file
from zapomni_mcp.config.loading import Config, load
from zapomni_mcp.config.showing import dump

__all__ = ["Config", "dump", "edit_plugin_switch", "load", "settings_file"]
