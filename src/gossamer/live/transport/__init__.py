"""How a machine's actions reach other nodes: the driver, sockets, frames."""
