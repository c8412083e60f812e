"""Prints the tools as langchain-google-genai gives them to a model, and the answer to a call with an object as a string."""

import asyncio
import json
import sys

from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    client = MultiServerMCPClient({"zapomni": {"transport": "stdio", "command": sys.argv[1], "args": []}})
    found = await client.get_tools()
    declared = [one for part in convert_to_genai_function_declarations(found) for one in part.function_declarations]
    search = next(one for one in found if one.name == "search_memory")
    answer = await search.ainvoke({"query": "bees", "filters": '{"tags": ["hobby"]}'})
    tools = {
        one.name: one.parameters.model_dump(mode="json", exclude_none=True) if one.parameters else {}
        for one in declared
    }
    print(json.dumps({"tools": tools, "answer": answer[0]["text"] if isinstance(answer, list) else answer}))


asyncio.run(main())
