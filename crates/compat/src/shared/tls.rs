//! Results of a TLS handshake, in OpenSSL's words.

/// The key of a key exchange in this group.
pub(crate) fn temporary_key(group: &str) -> &str {
    match group {
        "X25519" => "X25519 253 bits",
        "secp256r1" => "ECDH P-256 256 bits",
        "secp384r1" => "ECDH P-384 384 bits",
        other => other,
    }
}
