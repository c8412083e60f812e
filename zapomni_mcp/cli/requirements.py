"""Whether an installed distribution has what it requires."""

import shlex
import sys
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

from zapomni_mcp.cli.findings import Finding


def unmet_requirements(distribution: str) -> Iterator[Finding]:
    """A finding for each requirement of a distribution that is missing, or installed in a version that does not fit."""
    for text in metadata.requires(distribution) or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            fix = f"tell the authors of {distribution}"
            yield Finding("warn", f"requirement {text}", f"{distribution} requires what is no requirement", fix)
            continue
        if problem := _problem(requirement):
            requirement.marker = None
            fix = f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(str(requirement))}"
            yield Finding("fail", f"requirement {requirement}", f"{distribution} requires it, but {problem}", fix)


def _problem(requirement: Requirement) -> str | None:
    if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
        return None
    try:
        installed = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "it is not installed"
    fits = requirement.specifier.contains(installed, prereleases=True)
    return None if fits else f"{installed} is installed"
