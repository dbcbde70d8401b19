//! The kernel's records, as far as they are used: samples, forks, and how many were lost.

use crate::perf::{SAMPLE_CALLCHAIN, SAMPLE_RAW};

const LOST: u32 = 2;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;

/// From here on a number in a stack is a mark and no address.
const FIRST_MARK: u64 = -4095_i64 as u64;
const MARK_KERNEL: u64 = -128_i64 as u64;
const MARK_USER: u64 = -512_i64 as u64;

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Sample(Sample),
    Fork { pid: u32, parent: u32 },
    Lost(u64),
}

/// A sample: who, when, and its stack or the fields of its tracepoint, or both.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub pid: u32,
    pub tid: u32,
    pub time: u64,
    /// Addresses in the kernel, innermost first.
    pub kernel: Vec<u64>,
    /// Addresses in the process, innermost first.
    pub user: Vec<u64>,
    /// The fields of a tracepoint; empty without one.
    pub fields: Vec<u8>,
}

impl Sample {
    /// The number of the system call, of `raw_syscalls:sys_enter`: after eight bytes that all tracepoints have in common.
    pub(crate) fn syscall(&self) -> Option<i64> {
        let bytes = self.fields.get(8..16)?;
        Some(i64::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// A field of four bytes.
    pub(crate) fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.fields.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// A field of eight bytes.
    pub(crate) fn u64(&self, at: usize) -> Option<u64> {
        let bytes = self.fields.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// Reads a record's body; None of kinds that are not used, and of one that is cut short.
pub(crate) fn read(kind: u32, body: &[u8], sample_type: u64) -> Option<Record> {
    let mut body = RecordBody(body);
    match kind {
        LOST => {
            body.u64()?;
            Some(Record::Lost(body.u64()?))
        }
        FORK => Some(Record::Fork {
            pid: body.u32()?,
            parent: body.u32()?,
        }),
        SAMPLE => sample(&mut body, sample_type).map(Record::Sample),
        _ => None,
    }
}

fn sample(body: &mut RecordBody<'_>, sample_type: u64) -> Option<Sample> {
    let mut sample = Sample {
        pid: body.u32()?,
        tid: body.u32()?,
        time: body.u64()?,
        ..Sample::default()
    };
    if sample_type & SAMPLE_CALLCHAIN != 0 {
        let mut into = None;
        for _ in 0..body.u64()? {
            match body.u64()? {
                MARK_KERNEL => into = Some(&mut sample.kernel),
                MARK_USER => into = Some(&mut sample.user),
                FIRST_MARK.. => into = None,
                address => {
                    if let Some(stack) = &mut into {
                        stack.push(address);
                    }
                }
            }
        }
    }
    if sample_type & SAMPLE_RAW != 0 {
        let size = body.u32()? as usize;
        sample.fields = body.0.get(..size)?.to_vec();
    }
    Some(sample)
}

struct RecordBody<'a>(&'a [u8]);

impl RecordBody<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*first))
    }

    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ids: [u32; 2], words: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_ne_bytes()).collect();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_stack_is_divided_at_its_marks() {
        let words = [
            55,
            6,
            MARK_KERNEL,
            0xffff_0001,
            0xffff_0002,
            MARK_USER,
            1,
            2,
        ];
        let read_one = |bytes: &[u8]| read(SAMPLE, bytes, SAMPLE_CALLCHAIN);
        let bytes = body([7, 8], &words);
        let expected = Sample {
            pid: 7,
            tid: 8,
            time: 55,
            kernel: vec![0xffff_0001, 0xffff_0002],
            user: vec![1, 2],
            fields: Vec::new(),
        };
        assert_eq!(read_one(&bytes), Some(Record::Sample(expected)));
        // Cut short: no sample rather than a wrong one.
        assert_eq!(read_one(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_system_call_has_its_number_after_what_all_have_in_common() {
        let mut bytes = body([7, 8], &[55]);
        bytes.extend(16_u32.to_ne_bytes());
        bytes.extend(0_u64.to_ne_bytes());
        bytes.extend(233_u64.to_ne_bytes());
        let read_one = |bytes: &[u8]| read(SAMPLE, bytes, SAMPLE_RAW);
        let Some(Record::Sample(sample)) = read_one(&bytes) else {
            panic!("no sample");
        };
        assert_eq!(sample.syscall(), Some(233));
        assert_eq!((sample.u32(8), sample.u32(13)), (Some(233), None));
        assert_eq!(read_one(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn forks_and_losses_are_known_and_others_are_not() {
        let fork = Record::Fork { pid: 9, parent: 7 };
        assert_eq!(read(FORK, &body([9, 7], &[0, 0]), 0), Some(fork));
        assert_eq!(read(LOST, &body([1, 0], &[40]), 0), Some(Record::Lost(40)));
        assert_eq!(read(3, &body([1, 0], &[40]), 0), None);
    }
}
