"""The tools that are offered, by name: each checked when it comes in."""

import difflib
import logging
from collections.abc import Iterator
from typing import Any

from zapomni_core.errors import UnknownToolError
from zapomni_core.host.validation import CheckedTool, check_tool

log = logging.getLogger("zapomni.registry")


class ToolRegistry:
    """Tools by name, in the order they came in."""

    def __init__(self) -> None:
        self._tools: dict[str, CheckedTool] = {}

    def register(self, tool: Any, *, plugin: str = "") -> CheckedTool:
        """Check one tool and offer it; TypeError or ValueError says what is wrong with it."""
        checked = check_tool(tool, taken=self._tools.__contains__, plugin=plugin)
        self.take([checked])
        return checked

    def take(self, tools: list[CheckedTool]) -> None:
        """Offer tools that were checked against this registry."""
        for tool in tools:
            self._tools[tool.name] = tool
            log.info("tool_registered", extra={"tool_name": tool.name, "total_tools": len(self._tools)})

    def withdraw(self, plugin: str) -> list[str]:
        """Stop offering a plugin's tools; returns their names."""
        gone = [tool.name for tool in self if tool.plugin == plugin]
        for name in gone:
            del self._tools[name]
        return gone

    def get(self, name: str) -> CheckedTool:
        """The tool of that name; UnknownToolError names the nearest ones."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(name[:100], difflib.get_close_matches(name[:100], self._tools, n=2))
        return tool

    def owner(self, name: str) -> str | None:
        """The plugin that offers the tool of that name; None where it is free."""
        return self._tools[name].plugin if name in self._tools else None

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[CheckedTool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)
