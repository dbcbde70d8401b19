//! The messages of `echo.proto`. A test holds them to that file.

use prost::Message;

/// Message that comes back.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Payload {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(int64, tag = "2")]
    pub number: i64,
    #[prost(bytes = "vec", tag = "3")]
    pub data: Vec<u8>,
    #[prost(int64, repeated, tag = "4")]
    pub numbers: Vec<i64>,
    #[prost(message, optional, boxed, tag = "5")]
    pub inner: Option<Box<Payload>>,
}

/// The status that a call is to end with.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CallFailure {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub text: String,
}

/// A message that is to come so many times.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Repetition {
    #[prost(message, optional, tag = "1")]
    pub payload: Option<Payload>,
    #[prost(int32, tag = "2")]
    pub times: i32,
}

#[cfg(all(test, feature = "proto"))]
mod tests {
    use super::*;
    use prost_reflect::{DescriptorPool, DynamicMessage};
    use std::path::Path;

    /// Messages that are encoded here are read back, field by field, by the descriptors of the file.
    #[test]
    fn they_are_those_of_the_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract/grpc_echo");
        let set = protox::compile(["echo.proto"], [folder]).expect("the file");
        let pool = DescriptorPool::from_file_descriptor_set(set).expect("the file");
        let json = |name: &str, bytes: &[u8]| {
            let kind = pool.get_message_by_name(name).expect("the message");
            let message = DynamicMessage::decode(kind, bytes).expect("its encoding");
            assert_eq!(message.unknown_fields().count(), 0, "{name}");
            serde_json::to_value(&message).expect("a message as JSON")
        };
        let payload = Payload {
            text: "ä".into(),
            number: i64::MIN,
            data: vec![0, 255],
            numbers: vec![-1, 0, i64::MAX],
            inner: Some(Box::new(Payload {
                number: 7,
                ..Payload::default()
            })),
        };
        let expected = serde_json::json!({
            "text": "ä", "number": "-9223372036854775808", "data": "AP8=",
            "numbers": ["-1", "0", "9223372036854775807"], "inner": {"number": "7"},
        });
        assert_eq!(
            json("prony.echo.Payload", &payload.encode_to_vec()),
            expected
        );
        let failure = CallFailure {
            code: 5,
            text: "no".into(),
        };
        let said = json("prony.echo.Failure", &failure.encode_to_vec());
        assert_eq!(said, serde_json::json!({"code": 5, "text": "no"}));
        let repetition = Repetition {
            payload: Some(payload),
            times: 3,
        };
        let said = json("prony.echo.Repetition", &repetition.encode_to_vec());
        assert_eq!(said, serde_json::json!({"payload": expected, "times": 3}));
    }
}
