"""`zapomni demo`: Zapomni at work, on a store of its own."""

import asyncio
import sys

import click


@click.command()
def demo() -> None:
    """See Zapomni at work: it remembers, is asked, is killed, and has lost nothing.

    Uses a temporary store; nothing of yours is read or touched. Exits with 1 when something did not hold.
    """
    from zapomni_mcp.demo import demonstrate

    sys.exit(0 if asyncio.run(demonstrate()) else 1)
