"""Two live nodes on this machine: one publishes, the other follows."""

import asyncio

import gossamer


async def main() -> None:
    """Start, wait until they have found each other, publish, receive."""
    async with gossamer.Node() as one, gossamer.Node(join=[one.address]) as other:
        async with other.subscribe("prices/eur") as messages, one.publisher("prices/eur") as prices:
            await one.ready("prices/eur")
            await prices.publish(b"1.07")
            message = await anext(messages)
            print(f"{message.topic}: {message.payload.decode()}, after {message.hops} hop")


asyncio.run(main())
