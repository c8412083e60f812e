"""health_check: whether the store answers."""

from typing import Any

from pydantic import BaseModel

from zapomni_plugin_sessions.responses import Health
from zapomni_plugin_sessions.tool import READS, SessionsTool


class HealthCheckTool(SessionsTool):
    """Asks the store for the versions of what it runs on."""

    name = "health_check"
    title = "Is the memory well?"
    description = "Whether the memory's store answers, and which versions it runs on."
    annotations = READS
    responses = (Health,)

    def properties(self) -> dict[str, Any]:
        return {}

    async def answer(self) -> tuple[str, BaseModel]:
        health = await self.manager.health_check()
        message = ", ".join(f"{key} {value}" for key, value in health.items())
        return message, Health(message=message, health=health)
