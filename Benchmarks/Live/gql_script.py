"""What people write today: one subscription of the library `gql`. Prints the events, and the
seconds and processor seconds they took."""
import asyncio, sys, time
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport

url, document = sys.argv[1:3]


async def main():
    transport = WebsocketsTransport(url=url, subprotocols=["graphql-transport-ws"], ping_interval=None)
    async with Client(transport=transport, fetch_schema_from_transport=False) as session:
        begin, used, count = time.monotonic(), time.process_time(), 0
        async for _ in session.subscribe(gql(document)):
            count += 1
        print(count, time.monotonic() - begin, time.process_time() - used)


asyncio.run(main())
