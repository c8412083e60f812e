"""What can go wrong while keeping memories.

Exception
├── InvalidInputError            what a caller sent is wrong; names the field and the rule, safe to show
└── DatabaseError                the store cannot be reached, or refused what was asked of it
    ├── StoreUnavailableError    it cannot be opened or reached now; says what to do
    ├── StoreReplacedError       its file was replaced or removed while it was open; opening it anew helps
    ├── StoreFullError           there is no room left; nothing was written
    ├── StoreDamagedError        what is kept cannot be trusted; nothing was touched
    ├── StoreTooNewError         a newer Zapomni made it
    ├── EmbedderMismatchError    its vectors were made by another embedder
    ├── MemoryNotFoundError      a memory that something should refer to is not there
    └── JobNotFoundError         there is no such job
"""


class InvalidInputError(ValueError):
    """What a caller sent is wrong. The message names the field and the rule, never the value, and is safe to show."""


class DatabaseError(Exception):
    """The store could not do what was asked; a driver's own exception never escapes, it is the cause."""


class StoreUnavailableError(DatabaseError):
    """The store cannot be opened or reached now; the message says what to do."""


class StoreReplacedError(DatabaseError):
    """The store's file was replaced or removed while it was open. Whoever has it open must open it anew."""


class StoreFullError(DatabaseError):
    """There is no room left. Nothing was written, what was there still is."""


class StoreDamagedError(DatabaseError):
    """What is kept cannot be trusted; nothing was touched."""


class StoreTooNewError(DatabaseError):
    """A newer Zapomni made this store."""


class EmbedderMismatchError(DatabaseError):
    """The store's vectors were made by another embedder."""


class MemoryNotFoundError(DatabaseError):
    """A memory that something should refer to is not there."""


class JobNotFoundError(DatabaseError):
    """There is no such job, or it was done so long ago that it is forgotten."""
