"""The smallest Zapomni plugin that is still useful to read: one tool, one setting."""

from pydantic import BaseModel, ConfigDict, Field

from zapomni_core.plugin import Tool, hookimpl, tool


class HelloSettings(BaseModel):
    """`[plugins.hello]` in zapomni.toml, or ZAPOMNI_PLUGINS__HELLO__GREETING in the environment."""

    model_config = ConfigDict(extra="forbid")

    greeting: str = Field("Hello", min_length=1, description="The word to greet with.")


def make_hello(greeting: str) -> Tool:
    """The tool, with the user's greeting in it."""

    @tool(title="Say hello", annotations={"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False})
    async def hello(name: str = "world") -> str:
        """Greet somebody by name. Call it to see whether Zapomni and its plugins answer.

        Args:
            name: Whom to greet.
        """
        return f"{greeting}, {name}!"

    return hello


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return HelloSettings


@hookimpl
def zapomni_tools(settings: HelloSettings) -> list[Tool]:
    return [make_hello(settings.greeting)]
