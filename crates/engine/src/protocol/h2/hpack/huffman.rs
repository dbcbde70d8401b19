//! The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: the lengths define the codes.

/// Length of each symbol's code in bits; the last is the end-of-string symbol.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const LONGEST: usize = 30;
const END_OF_STRING: u16 = 256;

/// All codes, shortest first.
struct Codes {
    /// The symbols in the order of their codes.
    symbols: [u16; 257],
    /// By length: the first code, how many there are, and the place of the first one's symbol.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    place: [u32; LONGEST + 1],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut it = Codes {
        symbols: [0; 257],
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        place: [0; LONGEST + 1],
    };
    let (mut code, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        it.first[length] = code;
        it.place[length] = place as u32;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                it.symbols[place] = symbol as u16;
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        it.count[length] = place as u32 - it.place[length];
        length += 1;
    }
    it
}

/// Appends what `bytes` encode to `out`; false when they are not a valid encoding.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut code, mut length) = (0_u32, 0);
    for byte in bytes {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            if length > LONGEST {
                return false;
            }
            let nth = code.wrapping_sub(CODES.first[length]);
            if nth < CODES.count[length] {
                match CODES.symbols[(CODES.place[length] + nth) as usize] {
                    END_OF_STRING => return false,
                    symbol => out.push(symbol as u8),
                }
                (code, length) = (0, 0);
            }
        }
    }
    // RFC 7541, 5.2: what is left of the last byte are the first bits of the end-of-string code.
    length < 8 && code == (1 << length) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_complete() {
        // Kraft's sum of a complete code is exactly 1.
        let sum: u64 = LENGTHS.iter().map(|&length| 1 << (30 - length)).sum();
        assert_eq!(sum, 1 << 30);
    }

    #[test]
    fn examples_of_the_rfc() {
        for (hex, text) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
            ("a8eb10649cbf", "no-cache"),
            ("6402", "302"),
            (
                "d07abe941054d444a8200595040b8166e082a62d1bff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            (
                "9d29ad171863c78f0b97c8e9ae82ae43d3",
                "https://www.example.com",
            ),
        ] {
            let mut out = Vec::new();
            assert!(decode(&super::super::tests::bytes(hex), &mut out), "{text}");
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn invalid_encodings() {
        for hex in ["ff", "ffffffff", "00", "a8eb10649cbfff"] {
            let bytes = super::super::tests::bytes(hex);
            assert!(!decode(&bytes, &mut Vec::new()), "{hex}");
        }
    }
}
