import gc
import weakref

from zapomni_core.dispatch.call import Call, CallContext


class Arguments(dict):
    """Arguments that support weak references."""


async def test_a_finished_call_frees_its_arguments_without_the_garbage_collector():
    """They may be ten million characters long, so a reference cycle would make a server grow with each call."""
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
