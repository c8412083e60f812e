"""The plugin's settings."""

from pydantic import BaseModel, ConfigDict, Field


class SessionsSettings(BaseModel):
    """`[plugins.sessions]` in zapomni.toml, or ZAPOMNI_PLUGINS__SESSIONS__EMBEDDING_DIMENSION in the environment."""

    model_config = ConfigDict(extra="forbid")

    embedding_dimension: int = Field(
        1536,
        ge=1,
        description="How many numbers a vector of the caller's own has; those of another dimension are kept apart.",
    )
