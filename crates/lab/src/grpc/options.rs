//! `.proto` files whose imports only bring options, and are not there: `google/api/annotations.proto` and its like are seldom
//! beside the files that name them, and say nothing about messages.

use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, UninterpretedOption,
};
use protox::file::{
    ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver,
};
use protox::{Compiler, Error};
use std::path::{Path, PathBuf};

/// Compiles files without options of imports, which may be missing.
///
/// # Errors
/// When something else is missing too, such as a type.
pub(super) fn compile(files: &[PathBuf], folders: &[PathBuf]) -> Result<FileDescriptorSet, Error> {
    let mut all = ChainFileResolver::new();
    for folder in folders {
        all.add(IncludeFileResolver::new(folder.clone()));
    }
    all.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(Lenient { all });
    compiler.include_imports(true);
    compiler.open_files(files)?;
    Ok(compiler.file_descriptor_set())
}

struct Lenient {
    all: ChainFileResolver,
}

impl FileResolver for Lenient {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.all.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, Error> {
        match self.all.open_file(name) {
            Ok(file) if name.starts_with("google/protobuf/") => Ok(file),
            Ok(file) => {
                let mut file = file.file_descriptor_proto().clone();
                without_extensions(&mut file);
                Ok(File::from_file_descriptor_proto(file))
            }
            Err(error) if error.is_file_not_found() => {
                File::from_source(name, "syntax = \"proto3\";")
            }
            Err(error) => Err(error),
        }
    }
}

/// Leaves out the options that are not the language's own.
fn without_extensions(file: &mut FileDescriptorProto) {
    if let Some(options) = &mut file.options {
        own(&mut options.uninterpreted_option);
    }
    file.message_type.iter_mut().for_each(message);
    file.enum_type.iter_mut().for_each(enumeration);
    file.extension.iter_mut().for_each(field);
    for service in &mut file.service {
        if let Some(options) = &mut service.options {
            own(&mut options.uninterpreted_option);
        }
        for method in &mut service.method {
            if let Some(options) = &mut method.options {
                own(&mut options.uninterpreted_option);
            }
        }
    }
}

fn message(it: &mut DescriptorProto) {
    if let Some(options) = &mut it.options {
        own(&mut options.uninterpreted_option);
    }
    it.field.iter_mut().for_each(field);
    it.extension.iter_mut().for_each(field);
    it.nested_type.iter_mut().for_each(message);
    it.enum_type.iter_mut().for_each(enumeration);
    for oneof in &mut it.oneof_decl {
        if let Some(options) = &mut oneof.options {
            own(&mut options.uninterpreted_option);
        }
    }
    for range in &mut it.extension_range {
        if let Some(options) = &mut range.options {
            own(&mut options.uninterpreted_option);
        }
    }
}

fn field(it: &mut FieldDescriptorProto) {
    if let Some(options) = &mut it.options {
        own(&mut options.uninterpreted_option);
    }
}

fn enumeration(it: &mut EnumDescriptorProto) {
    if let Some(options) = &mut it.options {
        own(&mut options.uninterpreted_option);
    }
    for value in &mut it.value {
        if let Some(options) = &mut value.options {
            own(&mut options.uninterpreted_option);
        }
    }
}

fn own(options: &mut Vec<UninterpretedOption>) {
    options.retain(|option| !option.name.iter().any(|part| part.is_extension));
}

#[cfg(test)]
mod tests {
    use super::super::Schema;

    #[test]
    fn imports_that_only_bring_options_need_not_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let gateway = write(
            "api.proto",
            r#"syntax = "proto3";
package shop;
import "google/api/annotations.proto";
import "google/protobuf/timestamp.proto";
import "validate/validate.proto";
option (gogoproto.marshaler_all) = true;
service KV {
  option (google.api.default_host) = "shop.test";
  rpc Get (Q) returns (A) { option (google.api.http) = { get: "/v1/{key}" additional_bindings { get: "/" } }; }
}
message Q {
  option (openapi) = {};
  bytes key = 1 [(validate.rules).bytes.min_len = 1, deprecated = true];
  oneof of { option (validate.required) = true; string name = 2; google.protobuf.Timestamp at = 3; }
  enum Kind { option (x) = 1; NONE = 0 [(y) = "z"]; }
}
message A { bytes value = 1; }
"#,
        );
        let schema = Schema::read(&[gateway], &[]).unwrap();
        let method = schema.method("/shop.KV/Get").unwrap();
        assert!(!method.input("{\"key\":\"Zm9v\"}").unwrap().is_empty());
        // A type that is missing is a mistake, and the import is named.
        let typed = write(
            "typed.proto",
            "syntax = \"proto3\";\nimport \"other/types.proto\";\nmessage Q { other.T t = 1; }\n",
        );
        let error = Schema::read(&[typed], &[]).unwrap_err();
        let text = format!("{error:?}");
        assert!(text.contains("other/types.proto"), "{text}");
        assert!(text.contains("--proto-path"), "{text}");
    }
}
