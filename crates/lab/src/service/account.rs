//! Account under which databases run that refuse to run as root.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// Accounts that are tried, the first that exists.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// Account of a database's processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// The user's own.
    Own,
    /// Another, since this process is root.
    Other {
        /// Name of the account.
        name: &'static str,
        uid: u32,
        gid: u32,
    },
}

impl Account {
    /// The user's, unless that is root.
    pub(super) fn unprivileged() -> Result<Self, String> {
        // SAFETY: a plain system call.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(Self::Own);
        }
        let found = NAMES.into_iter().find_map(|name| {
            let (uid, gid) = ids(name)?;
            Some(Self::Other { name, uid, gid })
        });
        found.ok_or_else(|| {
            format!(
                "it refuses to run as root, and there is no account {} to run it as",
                NAMES.join(" or ")
            )
        })
    }

    /// Name of the account; empty for the user's own.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Own => "",
            Self::Other { name, .. } => name,
        }
    }

    /// A command line that runs under the account. The process still ends with the one that starts it: the kernel forgets
    /// that when an account changes, so `setpriv` asks for it again.
    pub(super) fn command(&self, line: &[String]) -> Vec<String> {
        let Self::Other { uid, gid, .. } = self else {
            return line.to_vec();
        };
        let mut all: Vec<String> = ["setpriv", "--clear-groups", "--pdeathsig", "KILL"]
            .map(Into::into)
            .into();
        all.extend([format!("--reuid={uid}"), format!("--regid={gid}")]);
        all.extend_from_slice(line);
        all
    }

    /// Gives a file or an empty folder to the account.
    pub(super) fn own(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid, .. } => chown(path, Some(*uid), Some(*gid)),
        }
    }

    /// Lets the account through a folder, whose content it need not see.
    pub(super) fn let_through(&self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { .. } => {
                std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711))
            }
        }
    }
}

/// Numbers of an account and its group.
fn ids(name: &str) -> Option<(u32, u32)> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero. The result points to memory of the C library that another call may change;
    // it is read at once.
    unsafe {
        let found = libc::getpwnam(name.as_ptr());
        (!found.is_null()).then(|| ((*found).pw_uid, (*found).pw_gid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_another_account_begins_with_the_change() {
        let line = ["postgres".to_owned(), "-D".to_owned()];
        assert_eq!(Account::Own.command(&line), line);
        let other = Account::Other {
            name: "postgres",
            uid: 7,
            gid: 8,
        };
        let all = other.command(&line).join(" ");
        assert_eq!(
            all,
            "setpriv --clear-groups --pdeathsig KILL --reuid=7 --regid=8 postgres -D"
        );
    }

    #[test]
    fn accounts_are_found_by_name() {
        assert_eq!(ids("root"), Some((0, 0)));
        assert_eq!(ids("no such account"), None);
    }
}
