"""What the user can set."""

from pydantic import BaseModel, ConfigDict, Field


class GraphSettings(BaseModel):
    """`[plugins.graph]` in zapomni.toml, or ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS in the environment."""

    model_config = ConfigDict(extra="forbid")

    wait_seconds: float = Field(
        5.0,
        ge=0,
        le=25,
        description="How long build_graph waits for its job before it answers that the work goes on in the background.",
    )
