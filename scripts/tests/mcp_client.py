"""Lists and calls the tools of a Model Context Protocol server with the official client; prints the results as JSON.

    python mcp_client.py URL < CALLS

CALLS is a list of [tool, arguments]. Run by test_mcp.py in the environment of requirements-rerank.txt.
"""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client


async def main(url: str) -> None:
    calls = json.load(sys.stdin)
    async with Client(url) as client:
        listed = await client.list_tools()
        answers = [await client.call_tool(tool, arguments) for tool, arguments in calls]
    print(
        json.dumps(
            {
                "tools": {tool.name: tool.model_dump(mode="json") for tool in listed.tools},
                "answers": [answer.model_dump(mode="json") for answer in answers],
            }
        )
    )


asyncio.run(main(sys.argv[1]))
