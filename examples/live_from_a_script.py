"""The same without asyncio: for scripts and notebooks."""

import gossamer

with gossamer.SyncNode() as one, gossamer.SyncNode(join=[one.address]) as other:
    with other.subscribe("prices/eur", codec="json") as messages:
        for price in (1.07, 1.08, 1.06):
            one.publish("prices/eur", price, codec="json")
        for _ in range(3):
            message = messages.get(timeout=10)
            print(message.topic, message.payload)
