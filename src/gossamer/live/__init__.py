"""Live nodes: asyncio and sockets drive the same machines that the simulator runs.

`api` is what applications use, `transport` moves messages between nodes, `security` has keys, signatures and access rules,
`operations` has settings, status, logs and the audit of records, and `fleet` runs many nodes on one machine.
"""
