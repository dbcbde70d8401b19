//! The network interfaces of this machine.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address, with the name of the interface that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface, such as `eth0`.
    pub interface: String,
    /// One of its addresses.
    pub ip: IpAddr,
}

/// Every address of every interface, in the kernel's order.
///
/// # Errors
/// When the kernel does not tell.
pub fn interfaces() -> io::Result<Vec<InterfaceAddress>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is writable; what it is set to is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut all = Vec::new();
    let mut next = list;
    // SAFETY: each entry is valid until the list is freed, and so are its name and the address that it points to, whose
    // family says of which type it is.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let Some(address) = entry.ifa_addr.as_ref() else {
                continue;
            };
            let ip = match i32::from(address.sa_family) {
                libc::AF_INET => {
                    let v4 = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)))
                }
                libc::AF_INET6 => {
                    let v6 = &*entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr))
                }
                _ => continue,
            };
            let interface = CStr::from_ptr(entry.ifa_name);
            all.push(InterfaceAddress {
                interface: interface.to_string_lossy().into_owned(),
                ip,
            });
        }
        libc::freeifaddrs(list);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_there() {
        let loopback = InterfaceAddress {
            interface: "lo".into(),
            ip: Ipv4Addr::LOCALHOST.into(),
        };
        assert!(interfaces().unwrap().contains(&loopback));
    }
}
