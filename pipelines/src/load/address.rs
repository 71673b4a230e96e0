//! Addresses as descriptions write them: `"02:00:00:00:00:01"`, `"192.0.2.1/24"`, `"2001:db8::1/64"`.
//!
//! Says of each what is wrong with it and what to write instead. Whether a port can have it is not known here.

use std::net::IpAddr;

/// What is wrong, and what to write instead.
pub(super) type Wrong = (String, String);

/// The link-layer address of one port.
pub(super) fn mac(text: &str) -> Result<[u8; 6], Wrong> {
    let mut mac = [0; 6];
    let mut bytes = text.split(':');
    for byte in &mut mac {
        let digits = bytes.next().filter(|digits| digits.len() == 2 && is_hex(digits));
        let read = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        *byte = read.ok_or_else(|| not_a_mac(text))?;
    }
    if bytes.next().is_some() {
        return Err(not_a_mac(text));
    }
    if mac[0] & 1 == 1 {
        let message = format!("\"{text}\" is a group address, which no port can have");
        return Err((message, "the second digit is even in the address of a port".to_owned()));
    }
    if mac == [0; 6] {
        let message = format!("\"{text}\" is no address of a port");
        return Err((message, "such as \"02:00:00:00:00:01\"".to_owned()));
    }
    Ok(mac)
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn not_a_mac(text: &str) -> Wrong {
    let message = format!("`mac` takes six bytes in hex, not \"{text}\"");
    (message, "such as \"02:00:00:00:00:01\"".to_owned())
}

/// An address and the network it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) address: IpAddr,
    pub(super) prefix: u32,
}

impl Cidr {
    /// The address with the length of its network's prefix.
    pub(super) fn pair(&self) -> (IpAddr, u8) {
        (self.address, self.prefix as u8)
    }

    /// Whether another address is in the same network.
    pub(super) fn holds(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                u32::from(own) & mask == u32::from(other) & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                u128::from(own) & mask == u128::from(other) & mask
            }
            _ => false,
        }
    }
}

/// An address of a port with the length of its network.
pub(super) fn cidr(text: &str) -> Result<Cidr, Wrong> {
    let example = "such as \"192.0.2.1/24\" or \"2001:db8::1/64\"".to_owned();
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err((
            format!("\"{text}\" is no IP address with the length of its network"),
            example,
        ));
    };
    let bits = if address.is_ipv4() { 32 } else { 128 };
    if prefix.is_empty() {
        let usual = if address.is_ipv4() { 24 } else { 64 };
        let message = format!("\"{text}\" does not say how long its network is");
        return Err((message, format!("such as \"{address}/{usual}\"")));
    }
    let digits = prefix.bytes().all(|digit| digit.is_ascii_digit());
    let length = prefix.parse::<u32>().ok().filter(|length| digits && *length <= bits);
    let Some(prefix) = length else {
        let message = format!("the network of \"{text}\" is 0 to {bits} bits long, not {prefix}");
        return Err((message, example));
    };
    unicast(address, text).map(|address| Cidr { address, prefix })
}

/// The address of one host.
pub(super) fn host(text: &str) -> Result<IpAddr, Wrong> {
    match text.parse() {
        Ok(address) => unicast(address, text),
        Err(_) => {
            let message = format!("\"{text}\" is no IP address");
            Err((message, "such as \"192.0.2.254\", without the length of a network".to_owned()))
        }
    }
}

fn unicast(address: IpAddr, text: &str) -> Result<IpAddr, Wrong> {
    let broadcast = address == IpAddr::from([255; 4]);
    if address.is_multicast() || address.is_unspecified() || broadcast {
        let message = format!("\"{text}\" is not the address of one host");
        return Err((message, "give an address that one host can have".to_owned()));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_is_read_as_it_is_written(bytes in any::<[u8; 6]>()) {
            let text = bytes.map(|byte| format!("{byte:02x}")).join(":");
            let right = bytes[0] & 1 == 0 && bytes != [0; 6];
            prop_assert_eq!(mac(&text).ok(), right.then_some(bytes));
            prop_assert_eq!(mac(&text.to_uppercase()).ok(), right.then_some(bytes));
        }

        /// Bit by bit, which is how a network is defined.
        #[test]
        fn a_network_holds_what_agrees_with_it_in_its_first_bits(
            own in any::<u32>(), other in any::<u32>(), prefix in 0..=32_u32,
        ) {
            let net = Cidr { address: IpAddr::V4(own.into()), prefix };
            let agree = (0..prefix).all(|bit| own << bit >> 31 == other << bit >> 31);
            prop_assert_eq!(net.holds(IpAddr::V4(other.into())), agree);
            let wide = |word: u32| IpAddr::V6((u128::from(word) << 96).into());
            let net = Cidr { address: wide(own), prefix };
            prop_assert_eq!(net.holds(wide(other)), agree);
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = (mac(&text), cidr(&text), host(&text));
        }
    }

    #[test]
    fn what_is_no_address_is_told_with_its_cure() {
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02-00-00-00-00-01"]
        {
            assert!(mac(text).unwrap_err().0.starts_with("`mac` takes six bytes in hex"), "{text}");
        }
        assert!(mac("+2:00:00:00:00:01").is_err());
        let wrong = |text: &str| cidr(text).unwrap_err().0;
        assert_eq!(wrong("192.0.2.1"), "\"192.0.2.1\" does not say how long its network is");
        let long = "the network of \"192.0.2.1/33\" is 0 to 32 bits long, not 33";
        assert_eq!(wrong("192.0.2.1/33"), long);
        assert!(wrong("192.0.2.1/+4").ends_with("not +4"));
        assert!(wrong("192.0.2/24").ends_with("is no IP address with the length of its network"));
        assert!(wrong("224.0.0.1/24").ends_with("is not the address of one host"));
        assert!(wrong("::/64").ends_with("is not the address of one host"));
        let read = cidr("2001:db8::1/64").unwrap();
        assert_eq!((read.address.to_string(), read.prefix), ("2001:db8::1".to_owned(), 64));
        assert!(host("192.0.2.1/24").is_err() && host("fe80::1").is_ok());
    }
}
