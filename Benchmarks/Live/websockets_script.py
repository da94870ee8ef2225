"""A bare WebSocket client in Python: receives messages, and reads none. Prints the events, and the
seconds and processor seconds they took."""
import asyncio, json, sys, time
import websockets

url, document = sys.argv[1:3]


async def main():
    async with websockets.connect(url, subprotocols=["graphql-transport-ws"], compression=None, max_size=None) as socket:
        await socket.send('{"type":"connection_init"}')
        await socket.recv()
        begin, used, count = time.monotonic(), time.process_time(), 0
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": document}}))
        while '"type":"complete"' not in await socket.recv():
            count += 1
        print(count, time.monotonic() - begin, time.process_time() - used)


asyncio.run(main())
