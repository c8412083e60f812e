"""The plugin's settings, and the journal that its hooks share: each of them gets this same instance."""

from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from zapomni_plugin_audit.journal import Journal


class AuditSettings(BaseModel):
    """`[plugins.audit]` in zapomni.toml, or ZAPOMNI_PLUGINS__AUDIT__... in the environment."""

    model_config = ConfigDict(extra="forbid")

    file: Path | None = Field(None, description="Where the lines go: an absolute path. Without it nothing is written.")
    on_failure: Literal["refuse", "allow"] = Field(
        "refuse",
        description="What becomes of calls while the file cannot be written: they are refused, or allowed with a warning.",
    )

    @field_validator("file")
    @classmethod
    def is_absolute(cls, file: Path | None) -> Path | None:
        """A relative path would depend on where a client happened to start the server."""
        if file is not None and not file.is_absolute():
            raise ValueError("must be an absolute path")
        return file

    @cached_property
    def journal(self) -> Journal | None:
        """The file that the hooks share."""
        return Journal(self.file) if self.file else None
