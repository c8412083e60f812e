"""Prints the tools as openai-agents gives them to a model, with its strict conversion, and the answer to a call."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPUtil


async def main() -> None:
    async with MCPServerStdio({"command": sys.argv[1]}, client_session_timeout_seconds=60) as server:
        found = await server.list_tools()
        tools = {
            tool.name: MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True).params_json_schema
            for tool in found
        }
        answer = await server.call_tool("search_memory", {"query": "bees"})
        print(json.dumps({"tools": tools, "answer": answer.content[0].text}))


asyncio.run(main())
