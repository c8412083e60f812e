"""The file that the lines go to, and as the plugin's lifespan the check that it can be written when the server starts."""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path


class Journal(AbstractAsyncContextManager[None]):
    """A file of JSON lines that several servers may share: each line is appended by one write.

    It is opened for every line, so that it may be rotated or removed at any time.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._unwritten = b""

    async def __aenter__(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.check()

    async def __aexit__(self, *_: object) -> None:
        return None

    def check(self) -> None:
        """Raise OSError unless the file can be appended to. A line that could not be written is written first."""
        if self.file.exists() and not self.file.is_file():  # opening a FIFO would wait for its reader
            raise OSError(errno.EINVAL, "Not a regular file", str(self.file))
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(descriptor, self._unwritten) :]
        finally:
            os.close(descriptor)

    def write(self, record: Mapping[str, object]) -> None:
        """Append one line; OSError where it cannot be."""
        if self._unwritten:
            self.check()
        self._unwritten = json.dumps(record).encode() + b"\n"
        self.check()
