"""The file that the lines go to, as the plugin's lifespan: open while the server runs."""

import json
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path


class Journal(AbstractAsyncContextManager[None]):
    """A file of JSON lines that several servers may share: each line is appended by one write."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    async def __aenter__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def __aexit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def write(self, record: Mapping[str, object]) -> None:
        """Append one line."""
        if self._descriptor is None:
            raise RuntimeError(f"{self._file} is not open")
        os.write(self._descriptor, json.dumps(record).encode() + b"\n")
