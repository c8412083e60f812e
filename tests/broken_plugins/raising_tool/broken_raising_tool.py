"""Raises an exception whose text is nobody's business."""

from zapomni_core.plugin import hookimpl, tool


@tool
async def raising_tool() -> str:
    """Raise an exception in the middle of the work."""
    raise RuntimeError("secret /home/x/password")


@hookimpl
def zapomni_tools():
    return [raising_tool]
