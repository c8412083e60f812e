"""Runs the benchmarks by name, or all of them."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ALL = ["server", "memory", "graph", "sessions", "stores", "related"]


def main() -> None:
    for name in sys.argv[1:] or ALL:
        if name not in ALL:
            sys.exit(f"there is no benchmark '{name}'; there are: {', '.join(ALL)}")
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=True)


if __name__ == "__main__":
    main()
