"""Attacks on what StAN promises to hide. Modules without tests are the attackers' code."""
