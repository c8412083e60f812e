"""A short add over stdio by the bare parts: the SDK's low-level server, the bare embedder, and bare durable commits, nothing between.

    bare_adds.py FILE COMMITS

It blocks its event loop: nobody else is served.
"""

import asyncio
import sys
from pathlib import Path

import mcp_types as types
from bare import BareCommits, bare_embedder
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "description": "What to remember."}}}
TOOL = types.Tool(name="add", description="Remember a text.", input_schema=SCHEMA)
FILE, COMMITS = Path(sys.argv[1]), int(sys.argv[2])


async def main():
    model, commits = bare_embedder(), BareCommits(FILE)

    async def list_tools(_context, _params):
        return types.ListToolsResult(tools=[TOOL])

    async def call_tool(_context, params):
        text = params.arguments["text"]
        vector = model.encode(text)
        for _ in range(COMMITS):
            commits.commit(text, vector)
        return types.CallToolResult(content=[types.TextContent(text="done")])

    server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options(NotificationOptions(tools_changed=True)))


asyncio.run(main())
