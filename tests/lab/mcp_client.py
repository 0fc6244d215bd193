"""A client process that drives a served guest at random: `python -m tests.lab.mcp_client ADDRESS SEED OPERATIONS`.

It writes a line of JSON for each answer: the tool, and the answer's data. Its breakpoint is ``nt!KiInner``, which runs
all the time, so that whoever waits long enough is told of a stop.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from typing import Any

MODES = ("auto", "legacy", "2026-07-28")


async def drive(address: str, seed: int, operations: int) -> None:
    """Do random operations, and say what came of each."""
    from mcp import Client

    chance = random.Random(seed)
    async with Client(address, mode=chance.choice(MODES)) as client:
        for _ in range(operations):
            tool, arguments = operation(chance)
            result = await client.call_tool(tool, arguments)
            shown = "\n".join(getattr(block, "text", "") for block in result.content)
            line = {"tool": tool, "error": shown if result.is_error else None, "data": result.structured_content}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


def operation(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """What to do next."""
    return chance.choice(
        (
            ("resume", {}),
            ("interrupt", {}),
            ("status", {}),
            ("wait_for_stop", {"timeout_ms": chance.randrange(1, 300)}),
        )
    )


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
