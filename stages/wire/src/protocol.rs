//! IANA protocol numbers: the IPv4 Protocol and IPv6 Next Header field.
//!
//! It promises the registry's values under the registry's names, for the numbers corelane acts on.
//! It does not say what a header looks like.

/// IPv6 Hop-by-Hop Options (RFC 8200 section 4.3).
pub const HOP_BY_HOP: u8 = 0;
/// ICMP for IPv4 (RFC 792).
pub const ICMP: u8 = 1;
/// IPv4 encapsulation (RFC 2003).
pub const IPV4: u8 = 4;
/// TCP (RFC 9293).
pub const TCP: u8 = 6;
/// UDP (RFC 768).
pub const UDP: u8 = 17;
/// IPv6 encapsulation (RFC 2473).
pub const IPV6: u8 = 41;
/// IPv6 Routing header (RFC 8200 section 4.4).
pub const ROUTING: u8 = 43;
/// IPv6 Fragment header (RFC 8200 section 4.5).
pub const FRAGMENT: u8 = 44;
/// Generic Routing Encapsulation (RFC 2784).
pub const GRE: u8 = 47;
/// Encapsulating Security Payload (RFC 4303).
pub const ESP: u8 = 50;
/// Authentication Header (RFC 4302).
pub const AUTHENTICATION: u8 = 51;
/// ICMP for IPv6 (RFC 4443).
pub const ICMP6: u8 = 58;
/// IPv6 "no next header" (RFC 8200 section 4.7).
pub const NO_NEXT: u8 = 59;
/// IPv6 Destination Options (RFC 8200 section 4.6).
pub const DESTINATION_OPTIONS: u8 = 60;
/// SCTP (RFC 9260).
pub const SCTP: u8 = 132;
/// IPv6 Mobility header (RFC 6275).
pub const MOBILITY: u8 = 135;
/// UDP-Lite (RFC 3828).
pub const UDP_LITE: u8 = 136;
/// Host Identity Protocol (RFC 7401).
pub const HIP: u8 = 139;
/// Shim6 (RFC 5533).
pub const SHIM6: u8 = 140;
