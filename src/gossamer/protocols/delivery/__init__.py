"""Which messages a node has seen, keeps and delivers, and how it recovers the messages that it missed."""
