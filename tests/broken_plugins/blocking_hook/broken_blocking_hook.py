"""Its hook does not return for twenty seconds."""

import time

from zapomni_core.plugin import hookimpl


@hookimpl
def zapomni_tools():
    time.sleep(20)
    return []
