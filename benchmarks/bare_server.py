"""The baseline: the SDK's low-level server over its own stdio, with three no-op tools and nothing else."""

import asyncio

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "description": "Anything."}}}
TOOLS = [types.Tool(name=f"noop_{n}", description="Do nothing, quickly.", input_schema=SCHEMA) for n in range(3)]


async def list_tools(_context, _params):
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_context, _params):
    return types.CallToolResult(content=[types.TextContent(text="done")])


async def main():
    server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options(NotificationOptions(tools_changed=True)))


asyncio.run(main())
