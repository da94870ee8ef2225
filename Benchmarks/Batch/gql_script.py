"""What people write today: one asyncio session of the library `gql`, 64 requests at a time."""
import asyncio, csv, json, sys
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport

url, rows, output, query = sys.argv[1:5]
query = gql(query)


async def main():
    limit = asyncio.Semaphore(64)
    async with Client(transport=AIOHTTPTransport(url=url), fetch_schema_from_transport=False) as session:
        with open(output, "w") as out:
            async def one(row):
                async with limit:
                    try:
                        result = await session.execute(query, variable_values={"id": row["id"]})
                    except TypeError:
                        query.variable_values = {"id": row["id"]}
                        result = await session.execute(query)
                out.write(json.dumps({"key": row["id"], "data": result}) + "\n")

            with open(rows) as file:
                await asyncio.gather(*(one(row) for row in csv.DictReader(file)))


asyncio.run(main())
