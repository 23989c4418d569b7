"""A process of its own that answers every request with the same bytes: the least that a server can do beside sync.

    python -m tests.bench.api_bare PORT BYTES

What it takes to answer beside a full load is what the machine takes, with nobody to blame: the measure for our own.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def _serve(port: int, size: int) -> None:
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()

    async with await asyncio.start_server(served, "127.0.0.1", port):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
