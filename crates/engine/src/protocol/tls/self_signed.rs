//! Certificates that sign themselves: for servers that are given one by prony, and for those of tests.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{AlgorithmIdentifier, CertificateDer, PrivatePkcs8KeyDer, alg_id};
use std::error::Error;
use std::net::IpAddr;
use std::ops::Range;
use x509_cert::Version;
use x509_cert::certificate::Rfc5280;
use x509_cert::der::asn1::{Any, BitString, ContextSpecific, Ia5String};
use x509_cert::der::{self, DateTime, Encode, Tag, TagMode, TagNumber};
use x509_cert::ext::ToExtension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::time::Validity;

/// The years of a certificate that nobody is to find expired.
const LONG: Range<u16> = 1975..4096;
/// How keys sign certificates, and what a certificate calls that.
const ALGORITHMS: [(SignatureScheme, AlgorithmIdentifier); 2] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, alg_id::ECDSA_SHA256),
    (SignatureScheme::RSA_PKCS1_SHA256, alg_id::RSA_PKCS1_SHA256),
];

/// A certificate and the key that has signed it.
#[derive(Debug)]
pub struct SelfSigned {
    /// X.509, version 3.
    pub certificate: CertificateDer<'static>,
    /// Whoever has it is who the certificate says.
    pub key: PrivatePkcs8KeyDer<'static>,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[error("no certificate can be made: {0}")]
pub struct CannotSign(Box<dyn Error + Send + Sync>);

impl SelfSigned {
    /// With a new key (ECDSA, P-256), for host names and IP addresses, valid for thousands of years.
    ///
    /// # Errors
    /// When there is no name, or one that no certificate can be for.
    pub fn new(names: &[&str]) -> Result<Self, CannotSign> {
        Self::valid(names, LONG)
    }

    /// The same, valid from the beginning of one year to the beginning of another.
    ///
    /// # Errors
    /// As [`new`](Self::new), and when a year is none of 1970 to 9999.
    pub fn valid(names: &[&str], years: Range<u16>) -> Result<Self, CannotSign> {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
                .map_err(|_| CannotSign("no key can be made".into()))?;
        let key = pkcs8.as_ref().to_vec().into();
        Self::signed(key, names, years).map_err(CannotSign)
    }

    /// With this key, which is PKCS #8 as PEM: ECDSA with P-256, or RSA.
    ///
    /// # Errors
    /// As [`new`](Self::new), and when it is no such key.
    pub fn with_key(pem: &str, names: &[&str]) -> Result<Self, CannotSign> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes());
        let key = key.map_err(|error| CannotSign(error.into()))?;
        Self::signed(key, names, LONG).map_err(CannotSign)
    }

    fn signed(
        key: PrivatePkcs8KeyDer<'static>,
        names: &[&str],
        years: Range<u16>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let signing = any_supported_type(&key.clone_key().into())?;
        let (signer, algorithm) = ALGORITHMS
            .into_iter()
            .find_map(|(scheme, name)| Some((signing.choose_scheme(&[scheme])?, name)))
            .ok_or("its key is neither ECDSA with P-256 nor RSA")?;
        let public = signing.public_key().ok_or("its key has no public part")?;
        let algorithm = sequence(&[algorithm.to_vec()])?;
        let fields = fields(&algorithm, &public, names, years)?;
        let signature = BitString::from_bytes(&signer.sign(&fields)?)?.to_der()?;
        let certificate = sequence(&[fields, algorithm, signature])?.into();
        Ok(Self { certificate, key })
    }

    /// The certificate as a file has it.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The key as a file has it.
    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", self.key.secret_pkcs8_der())
    }
}

/// Encodes the part that is signed: `TBSCertificate` (RFC 5280, 4.1). x509-cert has the type and, without its feature
/// `builder`, no way to make one; `builder` wants signers of other crates.
fn fields(
    algorithm: &[u8],
    public: &[u8],
    names: &[&str],
    years: Range<u16>,
) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let first = names.first().ok_or("it has no name")?;
    let subject: Name = format!("CN={first}").parse()?;
    let names: Result<_, der::Error> = names.iter().map(|name| general(name)).collect();
    let extensions = vec![SubjectAltName(names?).to_extension(&subject, &[])?];
    let new_year = |year| Ok::<_, der::Error>(DateTime::new(year, 1, 1, 0, 0, 0)?.into());
    let validity = Validity::<Rfc5280>::new(new_year(years.start)?, new_year(years.end)?);
    // Positive, and not 0.
    let serial = ((rand::random::<u128>() >> 1) | 1).to_be_bytes();
    let name = subject.to_der()?;
    Ok(sequence(&[
        explicit(0, Version::V3)?,
        SerialNumber::<Rfc5280>::new(&serial)?.to_der()?,
        algorithm.to_vec(),
        name.clone(),
        validity.to_der()?,
        name,
        public.to_vec(),
        explicit(3, extensions)?,
    ])?)
}

/// A name as a certificate has it among others.
fn general(name: &str) -> Result<GeneralName, der::Error> {
    match name.parse::<IpAddr>() {
        Ok(ip) => Ok(ip.into()),
        Err(_) => Ok(GeneralName::DnsName(Ia5String::new(name)?)),
    }
}

fn sequence(parts: &[Vec<u8>]) -> Result<Vec<u8>, der::Error> {
    Any::new(Tag::Sequence, parts.concat())?.to_der()
}

fn explicit<T>(number: u32, value: T) -> Result<Vec<u8>, der::Error>
where
    ContextSpecific<T>: Encode,
{
    let (tag_number, tag_mode) = (TagNumber(number), TagMode::Explicit);
    let field = ContextSpecific {
        tag_number,
        tag_mode,
        value,
    };
    field.to_der()
}

/// Lines of 64 characters between two that name what they are (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = BASE64_STANDARD.encode(der);
    while !rest.is_empty() {
        let after = rest.split_off(rest.len().min(64));
        out += &rest;
        out.push('\n');
        rest = after;
    }
    out + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::super::certificate::description;
    use super::*;
    use der::Decode;
    use std::fs;
    use std::process::Command;

    const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

    /// Returns the output of the program `openssl`.
    fn openssl(words: &[&str]) -> String {
        let ran = Command::new("openssl").args(words).output().unwrap();
        let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        assert!(ran.status.success(), "{words:?}: {said}");
        said
    }

    #[test]
    fn a_certificate_says_what_it_was_made_for_and_another_implementation_accepts_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (file, key_file) = (path("cert.pem"), path("key.pem"));
        let rsa = openssl(&["genpkey", "-quiet", "-algorithm", "RSA"]);
        let new = SelfSigned::new(&NAMES).unwrap();
        let short = SelfSigned::valid(&NAMES, 2020..2100).unwrap();
        let large = SelfSigned::with_key(&rsa, &NAMES).unwrap();
        let [ecdsa, sha256] = ["ecdsa-with-SHA256", "sha256WithRSAEncryption"];
        let ages = ["1975 GMT", "4096 GMT"];
        for (made, algorithm, years) in [
            (new, ecdsa, ages),
            (short, ecdsa, ["2020 GMT", "2100 GMT"]),
            (large, sha256, ages),
        ] {
            fs::write(&file, made.certificate_pem()).unwrap();
            fs::write(&key_file, made.key_pem()).unwrap();
            let text = openssl(&["x509", "-in", &file, "-noout", "-text"]);
            for says in [
                "Version: 3 (0x2)",
                algorithm,
                &format!("Not Before: Jan  1 00:00:00 {}", years[0]),
                &format!("Not After : Jan  1 00:00:00 {}", years[1]),
                "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1",
            ] {
                assert!(text.contains(says), "{says}: {text}");
            }
            assert!(!text.contains("(Negative)"), "{text}");
            for name in [
                ["-verify_hostname", NAMES[0]],
                ["-verify_ip", NAMES[1]],
                ["-verify_ip", NAMES[2]],
            ] {
                openssl(&[&["verify", "-CAfile", &file][..], &name, &[&file]].concat());
            }
            let public = openssl(&["pkey", "-in", &key_file, "-pubout"]);
            let certified = openssl(&["x509", "-in", &file, "-noout", "-pubkey"]);
            assert_eq!(public, certified);
            let ours = description(&made.certificate).unwrap();
            assert!(
                ours.starts_with("\"CN=localhost\", self-signed, valid until "),
                "{ours}"
            );
        }
    }

    #[test]
    fn two_certificates_differ_and_their_serial_numbers_too() {
        let [one, other] = [(); 2].map(|()| SelfSigned::new(&NAMES).unwrap());
        assert_ne!(one.certificate, other.certificate);
        assert_ne!(one.key, other.key);
        let serial = |of: &SelfSigned| {
            let read = x509_cert::Certificate::from_der(&of.certificate).unwrap();
            read.tbs_certificate().serial_number().clone()
        };
        assert_ne!(serial(&one), serial(&other));
    }

    #[test]
    fn what_no_certificate_can_be_made_of_is_refused() {
        let p384 = openssl(&[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-384",
        ]);
        for (made, why) in [
            (SelfSigned::new(&[]), "it has no name"),
            (SelfSigned::new(&["straße"]), "ASN.1"),
            (SelfSigned::valid(&NAMES, 1..2), "date/time"),
            (SelfSigned::with_key("", &NAMES), "no items found"),
            (SelfSigned::with_key(&p384, &NAMES), "neither ECDSA"),
        ] {
            let said = made.unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
