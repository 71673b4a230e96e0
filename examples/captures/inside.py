"""Whether the frames of one capture are those inside the tunnel of another: inside.py OUTER INNER HEADER_BYTES.

Both are classic pcap, little endian. The frames of each direction must be equal, in order; between the directions the
order may differ, since a device and what it sends through are not looked at in the same moment.
"""

import struct
import sys


def frames(path: str, skip: int) -> list[bytes]:
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16 + skip : at + 16 + length])
        at += 16 + length
    return found


def by_sender(all_frames: list[bytes]) -> dict[bytes, list[bytes]]:
    senders: dict[bytes, list[bytes]] = {}
    for frame in all_frames:
        senders.setdefault(frame[6:12], []).append(frame)
    return senders


if __name__ == "__main__":
    outer, inner, skip = sys.argv[1:]
    same = by_sender(frames(outer, int(skip))) == by_sender(frames(inner, 0))
    sys.exit(0 if same else f"inside.py: {inner} is not what {outer} carries")
