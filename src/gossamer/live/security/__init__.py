"""Keys, TLS, signatures and access rules."""
