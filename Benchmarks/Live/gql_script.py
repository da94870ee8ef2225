"""What people write today: one subscription of the library `gql`. Prints the events, and the seconds they took."""
import asyncio, sys, time
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport

url, document = sys.argv[1:3]


async def main():
    transport = WebsocketsTransport(url=url, subprotocols=["graphql-transport-ws"], ping_interval=None)
    async with Client(transport=transport, fetch_schema_from_transport=False) as session:
        begin, count = time.monotonic(), 0
        async for _ in session.subscribe(gql(document)):
            count += 1
        print(count, time.monotonic() - begin)


asyncio.run(main())
