"""Shows and edits the settings that zapomni_core.config reads."""

from zapomni_core.config import Config, load, settings_file
from zapomni_mcp.config.edit import set_plugin_enabled
from zapomni_mcp.config.show import dump

__all__ = ["Config", "dump", "load", "set_plugin_enabled", "settings_file"]
