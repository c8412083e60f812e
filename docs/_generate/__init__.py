"""Writes the parts of the reference that are generated from the code."""

from collections.abc import Callable, Mapping
from pathlib import Path

from _generate import commands, contract, refusals, settings

PARTS: Mapping[str, Callable[[], str]] = {
    "commands": commands.commands,
    "errors": contract.errors,
    "failures": refusals.failures,
    "hooks": contract.hooks,
    "plugin_modules": contract.plugin_modules,
    "registry": refusals.registry_rules,
    "settings": settings.settings,
    "testing": contract.testing_kit,
}


def write_all(folder: Path) -> None:
    """Write every part as NAME.md; unchanged files are not rewritten, so only changed pages are built again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in PARTS.items():
        text = part().rstrip() + "\n"
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
