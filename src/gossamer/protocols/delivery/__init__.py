"""What a node has received, what it delivers, and how it recovers what it missed."""
