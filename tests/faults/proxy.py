"""A TCP proxy that cuts and delays connections."""

import asyncio
from contextlib import asynccontextmanager


class Proxy:
    """Stands between a client and a server."""

    def __init__(self):
        self.delay = 0.0
        self.swallow = 0  # so many answers do not come through; all connections are cut instead
        self.port = 0
        self._writers = set()

    def cut(self):
        """Cut all connections."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def serve(self, reader, writer, host, port):
        behind, to_server = await asyncio.open_connection(host, port)
        self._writers |= {writer, to_server}
        try:
            await asyncio.gather(self._pass(reader, to_server), self._pass(behind, writer, is_answer=True))
        except ConnectionError:
            pass
        finally:
            self._writers -= {writer, to_server}
            for one in (writer, to_server):
                one.transport.abort()

    async def _pass(self, reader, writer, is_answer=False):
        while data := await reader.read(65536):
            if is_answer and self.swallow:
                self.swallow -= 1
                self.cut()
                return
            await asyncio.sleep(self.delay if is_answer else 0)
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def proxy_to(host, port):
    """A proxy to a server."""
    proxy = Proxy()
    listening = await asyncio.start_server(lambda r, w: proxy.serve(r, w, host, port), "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        proxy.cut()
        await asyncio.sleep(0)
