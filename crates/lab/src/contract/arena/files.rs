//! Files that a server sends, below the folder of its dataset.

use rand::distr::{Alphanumeric, SampleString};
use rand::{Rng, RngExt};

/// Name of their folder, in that of the dataset.
pub(in crate::contract) const FOLDER: &str = "static";

/// Names and sizes are the same for every start, so that every load moves as many bytes.
const ALL: [(&str, usize); 20] = [
    ("analytics.js", 6_000),
    ("app.js", 95_000),
    ("bold.woff2", 27_000),
    ("components.css", 45_000),
    ("data.json", 60_000),
    ("footer.html", 4_000),
    ("header.html", 3_500),
    ("helpers.js", 18_000),
    ("hero.webp", 120_000),
    ("icons.svg", 22_000),
    ("index.html", 5_000),
    ("layout.css", 12_000),
    ("logo.svg", 8_000),
    ("manifest.json", 3_200),
    ("photo.webp", 200_000),
    ("regular.woff2", 25_000),
    ("reset.css", 3_000),
    ("router.js", 35_000),
    ("theme.css", 28_000),
    ("vendor.js", 300_000),
];

/// Extensions with their media types, and whether files of them become smaller when they are compressed.
const MEDIA: [(&str, &[&str], bool); 7] = [
    ("css", &["text/css"], true),
    ("html", &["text/html"], true),
    ("js", &["text/javascript", "application/javascript"], true),
    ("json", &["application/json"], true),
    ("svg", &["image/svg+xml"], true),
    ("webp", &["image/webp"], false),
    ("woff2", &["font/woff2"], false),
];

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::contract) struct StaticFile {
    /// Name of the file in its folder.
    pub name: &'static str,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Media types that are right for it.
    pub(super) media: &'static [&'static str],
    /// Compression makes it smaller.
    pub(super) is_text: bool,
}

/// The files with random content, so that no answer can be prepared.
pub(in crate::contract) fn random() -> Vec<StaticFile> {
    let mut rng = rand::rng();
    let file = |(name, size): (&'static str, usize)| {
        let extension = name.rsplit('.').next();
        let kind = MEDIA.iter().find(|kind| Some(kind.0) == extension);
        let (extension, media, is_text) = *kind.expect("every extension has a media type");
        let bytes = match is_text {
            true => words(&mut rng, size),
            false => picture(&mut rng, extension, size),
        };
        StaticFile {
            name,
            bytes,
            media,
            is_text,
        }
    };
    ALL.map(file).into()
}

/// Lines of words that come again, of which compression leaves about a third.
fn words(rng: &mut impl Rng, size: usize) -> Vec<u8> {
    let count = (size / 60).clamp(40, 300);
    let mut word = || {
        let length = rng.random_range(2..12);
        Alphanumeric.sample_string(rng, length)
    };
    let vocabulary: Vec<String> = (0..count).map(|_| word()).collect();
    let mut text = String::with_capacity(size + 16);
    while text.len() < size {
        text += &vocabulary[rng.random_range(0..count)];
        text.push(if rng.random_ratio(1, 10) { '\n' } else { ' ' });
    }
    text.truncate(size);
    text.into_bytes()
}

/// Bytes that cannot be compressed, after those by which such a file is recognised.
fn picture(rng: &mut impl Rng, extension: &str, size: usize) -> Vec<u8> {
    let start: &[u8] = match extension {
        "webp" => b"RIFF\0\0\0\0WEBPVP8 ",
        _ => b"wOF2",
    };
    let mut bytes = vec![0; size];
    rng.fill(&mut bytes[..]);
    bytes[..start.len()].copy_from_slice(start);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn files_differ_by_start_and_have_the_same_sizes() {
        let (one, other) = (random(), random());
        for ((one, other), (name, size)) in one.iter().zip(&other).zip(ALL) {
            assert_eq!((one.name, one.bytes.len()), (name, size));
            assert_ne!(one.bytes, other.bytes);
            assert!((3_000..=300_000).contains(&size), "{name}");
        }
    }

    #[test]
    fn compression_makes_text_smaller_and_nothing_else() {
        for file in random() {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&file.bytes).unwrap();
            let size = encoder.finish().unwrap().len();
            let smaller = size < file.bytes.len() * 2 / 3;
            assert_eq!(smaller, file.is_text, "{} {size}", file.name);
        }
    }
}
