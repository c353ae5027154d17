"""Keys, TLS, signatures and access rules."""

# What a node requires of messages: "off" (no signatures), "accept" (signatures are checked if present), "strict".
SIGNATURE_MODES = ("off", "accept", "strict")
