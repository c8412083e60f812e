"""Prints the tools as AutoGen gives them to a model, and the answer to a call."""

import asyncio
import json
import sys

from autogen_core import CancellationToken
from autogen_ext.tools.mcp import StdioServerParams, mcp_server_tools


async def main() -> None:
    found = await mcp_server_tools(StdioServerParams(command=sys.argv[1], read_timeout_seconds=60))
    search = next(one for one in found if one.name == "search_memory")
    answer = search.return_value_as_string(await search.run_json({"query": "bees"}, CancellationToken()))
    print(json.dumps({"tools": {one.name: one.schema["parameters"] for one in found}, "answer": answer}))


asyncio.run(main())
