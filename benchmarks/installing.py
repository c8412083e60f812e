"""Installs generated plugins into a folder, the way pip does: modules and their metadata."""

from pathlib import Path

MODULE = """\
from zapomni_core.plugin import ToolResult, hookimpl


class Noop:
    description = "Do nothing, quickly."

    def __init__(self, name):
        self.name = name
        self.input_schema = {"type": "object", "properties": {"text": {"type": "string", "description": "Anything."}}}

    async def execute(self, arguments):
        return ToolResult.text("done")


@hookimpl
def zapomni_tools():
    return [Noop(f"%(prefix)s_{n}") for n in range(%(tools)d)]
"""


def install(folder: Path, plugins: dict[str, int]) -> Path:
    """One plugin per name, with that many class tools."""
    for name, tools in plugins.items():
        info = folder / f"zapomni_plugin_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"zapomni_plugin_{name}.py").write_text(MODULE % {"prefix": name, "tools": tools})
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: zapomni-plugin-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[zapomni.plugins]\n{name} = zapomni_plugin_{name}\n")
    return folder
