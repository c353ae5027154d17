"""What an application uses: the node, its subscriptions and publishers."""
