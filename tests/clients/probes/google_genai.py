"""Prints the tools as google-genai gives them to a model."""

import asyncio
import json
import sys

from google.genai import types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    async with (
        stdio_client(StdioServerParameters(command=sys.argv[1])) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        found = (await session.list_tools()).tools
        schemas = {one.name: types.JSONSchema.model_validate(one.inputSchema) for one in found}
        converted = {name: types.Schema.from_json_schema(json_schema=one) for name, one in schemas.items()}
        answer = await session.call_tool("search_memory", {"query": "bees"})
        tools = {name: one.model_dump(mode="json", exclude_none=True) for name, one in converted.items()}
        print(json.dumps({"tools": tools, "answer": answer.content[0].text}))


asyncio.run(main())
