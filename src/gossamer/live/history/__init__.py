"""The history of a live node on disk: messages for neighbours that were away, and where its own application stopped."""
