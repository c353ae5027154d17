"""Real time: asyncio drives the same machines that the simulator runs.

Here so far: the driver and an in-memory transport. Sockets, TLS and the public Node come on top of these.
"""
