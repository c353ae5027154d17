"""Keys, TLS, signatures and access rules."""

# What a node requires of messages: "off" (nobody signs), "accept" (signatures are checked where there are any), "strict".
SIGNATURE_MODES = ("off", "accept", "strict")
