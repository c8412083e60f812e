import gc
import weakref

from zapomni_core.dispatch.call import Call, CallContext


class Arguments(dict):
    """Arguments that can be watched."""


async def test_a_call_that_is_over_leaves_its_arguments_to_no_garbage_collector():
    """They may be ten million characters long; where only the garbage collector frees them, a server grows with each call."""
    arguments = Arguments(text="long")
    watched = weakref.ref(arguments)
    context = CallContext(call=Call(id="1", name="add_memory", arguments=arguments))
    gc.disable()
    try:
        with context.heartbeat():
            pass
        del arguments, context
        assert watched() is None
    finally:
        gc.enable()
