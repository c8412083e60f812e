"""The console script. It imports the commands inside `main`, so Ctrl-C is quiet during the imports too."""

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        from zapomni_mcp.cli.root import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run(args)
