"""Why a TLS connection was refused, as a sentence about the peer."""

import ssl

# OpenSSL's codes for a peer certificate that it does not accept.
_VERIFY = {
    7: "its certificate's signature is wrong",
    9: "its certificate is not valid yet; are both clocks right?",
    10: "its certificate has expired; issue a new one with `gossamer keys issue`",
    **dict.fromkeys(
        (2, 18, 19, 20, 21), "its certificate is of another authority; both nodes need keys from the same authority"
    ),
    **dict.fromkeys((24, 25, 26, 79), "its certificate is not a node certificate"),
}
# OpenSSL's reasons for a handshake that failed.
_REASONS = {
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust our authority; both nodes need keys from the same authority",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it says that our certificate has expired; issue a new one with `gossamer keys issue`",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it refuses our certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it refuses our certificate",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it sent no certificate; it needs keys from our authority",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it requires a certificate and we sent none",
    "UNSUPPORTED_PROTOCOL": "it uses a TLS version older than 1.3",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it uses another version of TLS; TLS 1.3 is required",
    "WRONG_VERSION_NUMBER": "it does not use TLS; is TLS off there?",
    "HTTP_REQUEST": "it sent an HTTP request, not Gossamer over TLS",
}


def why_refused(error: Exception) -> str:
    """Why a connection to a peer failed, as a sentence about the peer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFY.get(error.verify_code, f"its certificate is refused: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason or "", f"TLS failed: {(error.reason or str(error)).lower().replace('_', ' ')}")
    if isinstance(error, TimeoutError | ConnectionAbortedError):
        return "its TLS handshake took too long"
    if isinstance(error, ConnectionError | EOFError):
        # asyncio closes the connection without a TLS alert, so the refused side cannot learn the exact reason.
        return "it closed the connection; it may not use TLS, or it refuses our certificate (another authority, or expired)"
    return str(error) or type(error).__name__
