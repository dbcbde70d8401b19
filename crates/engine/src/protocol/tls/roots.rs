//! The authorities that this system trusts: files of certificates, where OpenSSL looks for them.

use openssl_probe::{ENV_CERT_DIR, ENV_CERT_FILE, ProbeResult, probe};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::collections::HashSet;
use std::fmt::Display;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Certificates of authorities, and the first error met while reading them.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) trouble: Option<String>,
}

impl Roots {
    /// Certificates from `SSL_CERT_FILE` and `SSL_CERT_DIR`, or else from the places where distributions keep them.
    pub(super) fn of_system() -> Self {
        let cert_file = env::var_os(ENV_CERT_FILE).map(PathBuf::from);
        let folders = env::var_os(ENV_CERT_DIR).unwrap_or_default();
        let folders = env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
        let cert_dir: Vec<_> = folders.collect();
        match cert_file.is_none() && cert_dir.is_empty() {
            true => Self::of(&probe()),
            false => Self::of(&ProbeResult {
                cert_file,
                cert_dir,
            }),
        }
    }

    fn of(places: &ProbeResult) -> Self {
        let mut this = Self::default();
        // Folders have several names for a certificate, and the file of all beside them: a file is read once.
        let mut read = HashSet::new();
        if let Some(file) = &places.cert_file {
            read.extend(fs::metadata(file).map(|about| (about.dev(), about.ino())));
            this.file(file);
        }
        for folder in &places.cert_dir {
            if let Err(error) = this.folder(folder, &mut read) {
                this.note(folder, &error);
            }
        }
        this.certificates.sort_unstable_by(|a, b| a.cmp(b));
        this.certificates.dedup();
        this
    }

    fn folder(&mut self, folder: &Path, read: &mut HashSet<(u64, u64)>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match fs::metadata(&path) {
                Ok(about) if about.is_file() && read.insert((about.dev(), about.ino())) => {
                    self.file(&path);
                }
                Ok(_) => {}
                // A link to what has been removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.note(&path, &error),
            }
        }
        Ok(())
    }

    /// Adds the certificates of a file. Anything else in it is skipped.
    fn file(&mut self, path: &Path) {
        match CertificateDer::pem_file_iter(path) {
            Ok(found) => found.for_each(|one| match one {
                Ok(certificate) => self.certificates.push(certificate),
                Err(error) => self.note(path, &error),
            }),
            Err(error) => self.note(path, &error),
        }
    }

    fn note(&mut self, path: &Path, error: &dyn Display) {
        self.trouble
            .get_or_insert_with(|| format!("{}: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::SelfSigned;
    use super::*;
    use std::os::unix::fs::symlink;

    fn pem() -> String {
        SelfSigned::new(&["localhost"]).unwrap().certificate_pem()
    }

    fn found(file: Option<&Path>, folders: &[&Path]) -> (usize, Option<String>) {
        let roots = Roots::of(&ProbeResult {
            cert_file: file.map(Path::to_owned),
            cert_dir: folders.iter().map(|&it| it.to_owned()).collect(),
        });
        (roots.certificates.len(), roots.trouble)
    }

    #[test]
    fn every_certificate_is_found_once_under_whatever_names() {
        let place = tempfile::tempdir().unwrap();
        let (all, one) = (place.path().join("all.crt"), place.path().join("one.pem"));
        let (first, second) = (pem(), pem());
        fs::write(&all, format!("# both\n{first}\n{second}")).unwrap();
        fs::write(&one, first).unwrap();
        fs::write(place.path().join("README"), "no certificate").unwrap();
        fs::create_dir(place.path().join("deeper")).unwrap();
        fs::write(place.path().join("deeper/other.pem"), pem()).unwrap();
        symlink("one.pem", place.path().join("71f3bb26.0")).unwrap();
        symlink("gone.pem", place.path().join("71f3bb26.1")).unwrap();
        let deeper = place.path().join("deeper");
        assert_eq!(found(Some(&all), &[]), (2, None));
        assert_eq!(found(None, &[place.path()]), (2, None));
        assert_eq!(found(Some(&one), &[place.path(), &deeper]), (3, None));
        assert_eq!(found(Some(Path::new("/dev/null")), &[]), (0, None));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_takes_nothing_else_with_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a.pem");
        let broken = "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n";
        fs::write(&file, format!("{broken}{}", pem())).unwrap();
        let (count, trouble) = found(Some(&file), &[]);
        let trouble = trouble.unwrap();
        assert_eq!(count, 1);
        assert!(trouble.contains("a.pem: base64"), "{trouble}");
        let missing = place.path().join("missing");
        let (count, trouble) = found(Some(&missing), &[&missing, place.path()]);
        let trouble = trouble.unwrap();
        assert_eq!(count, 1);
        assert!(trouble.contains("missing: "), "{trouble}");
        assert!(trouble.contains("No such file"), "{trouble}");
    }
}
