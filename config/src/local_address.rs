//! The address a broker registers with when `brokerIP1` is not configured.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;

/// The machine's address by the reference's rules (`NetworkUtil.getLocalInetAddress`, 5.x): of the interfaces that are up
/// and neither loopback, bridge, alias nor point to point, an IPv4 address before an IPv6 one and a public one before a
/// private one; loopback where there is nothing else. IPv6 is in brackets.
pub fn local_address() -> String {
    let interfaces = getifaddrs().into_iter().flatten().filter(is_eligible);
    choose(interfaces.filter_map(|interface| ip(&interface)).collect())
}

/// Chooses among addresses in the kernel's order. The reference sees them in the reverse order and takes its first
/// public or, failing that, its last private one.
fn choose(addresses: Vec<IpAddr>) -> String {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for address in addresses.into_iter().filter(|address| !address.is_loopback()) {
        match address {
            IpAddr::V4(address) => v4.push(address),
            IpAddr::V6(address) => v6.push(address),
        }
    }
    if let Some(address) = v4.iter().rev().find(|address| !is_internal_v4(**address)).or(v4.first()) {
        return address.to_string();
    }
    if let Some(address) = v6.iter().rev().find(|address| !is_internal_v6(**address)).or(v6.last()) {
        return format!("[{address}]");
    }
    Ipv4Addr::LOCALHOST.to_string()
}

fn is_eligible(interface: &InterfaceAddress) -> bool {
    let name = &interface.interface_name;
    let is_bridge = || Path::new("/sys/class/net").join(name).join("bridge").exists();
    interface.flags.contains(InterfaceFlags::IFF_UP)
        && !interface.flags.contains(InterfaceFlags::IFF_POINTOPOINT)
        && !name.contains(':')
        && !is_bridge()
}

fn ip(interface: &InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    address.is_private() || address.is_loopback()
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    // fec0::/10 is the retired site-local range, which the reference still counts.
    let site_local = address.segments()[0] & 0xffc0 == 0xfec0;
    address.is_unspecified() || address.is_loopback() || address.is_unicast_link_local() || site_local
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(addresses: &[&str]) -> String {
        choose(addresses.iter().map(|address| address.parse().unwrap()).collect())
    }

    #[test]
    fn public_before_private_and_v4_before_v6() {
        assert_eq!(chosen(&["127.0.0.1", "10.0.0.5", "8.8.4.4", "::1", "2001:db8::1"]), "8.8.4.4");
        assert_eq!(chosen(&["127.0.0.1", "10.0.0.5", "192.168.1.2", "2001:db8::1"]), "10.0.0.5");
        assert_eq!(chosen(&["127.0.0.1", "fe80::1", "2001:db8::1"]), "[2001:db8::1]");
        assert_eq!(chosen(&["127.0.0.1", "::1"]), "127.0.0.1");
    }

    #[test]
    fn this_machine_has_an_address() {
        assert!(!local_address().is_empty());
    }
}
