//! What tunnels carry, read slowly: to tell flows apart that run inside. It knows the tunnels that the random traffic
//! is made of, by their usual ports, and no others.

/// What a packet carries, as a frame, if it is one of the tunnels here, and the identifier of the tunnel: from its
/// IP header on.
pub(crate) fn inside(ip: &[u8], next: u8, l4: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut id = vec![next];
    let (at, ethertype) = match next {
        17 => {
            let port = u16::from_be_bytes([*ip.get(l4 + 2)?, *ip.get(l4 + 3)?]);
            let header = ip.get(l4 + 8..l4 + 16)?;
            let options = usize::from(header[0] & 0x3f) * 4;
            id.extend(&header[4..7]);
            match port {
                4789 => (l4 + 16, 0x6558),
                6081 => (l4 + 16 + options, u16::from_be_bytes([header[2], header[3]])),
                _ => return None,
            }
        }
        47 => {
            let header = ip.get(l4..l4 + 4)?;
            let fields = (header[0] >> 7) + (header[0] >> 5 & 1) + (header[0] >> 4 & 1);
            if header[0] & 0x20 != 0 {
                let key = l4 + 4 + usize::from(header[0] >> 7) * 4;
                id.extend(ip.get(key..key + 4)?);
            }
            (l4 + 4 + 4 * usize::from(fields), u16::from_be_bytes([header[2], header[3]]))
        }
        4 => (l4, 0x0800),
        41 => (l4, 0x86dd),
        _ => return None,
    };
    let inner = ip.get(at..)?.to_vec();
    let link = [&[0; 12][..], &ethertype.to_be_bytes()].concat();
    Some((id, if ethertype == 0x6558 { inner } else { [link, inner].concat() }))
}
