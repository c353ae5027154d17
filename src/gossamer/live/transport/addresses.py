"""Addresses in the form HOST:PORT, with brackets around an IPv6 host."""

import ipaddress
import os
import socket

from gossamer.model.values.errors import InputError


def split_address(text: str, field: str = "an address") -> tuple[str, int]:
    """The host and the port; an InputError names the field that has the wrong value."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535 or len(text) > 256:
        raise InputError(f"{field} must be HOST:PORT, such as 127.0.0.1:7400, got {text!r}")
    return host, int(port)


def join_address(host: str, port: int) -> str:
    """HOST:PORT."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether the host cannot be reached from other machines."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def words_of(error: Exception) -> str:
    """The system's description of an error. Asyncio's messages also contain addresses, which our messages name already."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno).lower()
    return str(getattr(error, "strerror", None) or error).lower()
