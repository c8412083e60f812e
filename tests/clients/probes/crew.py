"""Prints the tools as CrewAI gives them to a model, and the answer to a call, in which it sends null for what is left out."""

import json
import sys

from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters

with MCPServerAdapter(StdioServerParameters(command=sys.argv[1]), connect_timeout=60) as found:
    tools = {one.name: one.args_schema.model_json_schema() for one in found}
    search = next(one for one in found if one.name == "search_memory")
    answer = search.run(query="bees", limit=None, filters=None, max_tokens=None)
    print(json.dumps({"tools": tools, "answer": answer}))
