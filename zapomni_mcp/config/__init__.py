"""Shows and edits the settings that zapomni_core.config reads."""

from zapomni_core.config import Config, load, settings_file
from zapomni_mcp.config.editing import edit_plugin_switch
from zapomni_mcp.config.showing import dump

__all__ = ["Config", "dump", "edit_plugin_switch", "load", "settings_file"]
