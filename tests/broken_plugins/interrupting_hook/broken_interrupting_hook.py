"""Its hook raises KeyboardInterrupt, as if the user had pressed Ctrl-C."""

from zapomni_core.plugin import hookimpl


@hookimpl
def zapomni_middleware():
    raise KeyboardInterrupt
