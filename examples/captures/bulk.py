"""Moves reproducible bytes over TCP: bulk.py (send|receive) ADDRESS BYTES...

One connection for each BYTES, all open at once. The sender writes that many bytes, then half-closes;
the receiver reads to the end, checks every byte, answers with the count in text, and closes.
"""

import hashlib
import socket
import sys
import threading

PORT = 5001
TIMEOUT_S = 20


def payload(stream: int, length: int) -> bytes:
    """The bytes of one stream: SHA-256 of a counter, so that no two segments are alike."""
    blocks = (length + 31) // 32
    digest = (hashlib.sha256(f"corelane {stream} {n}".encode()).digest() for n in range(blocks))
    return b"".join(digest)[:length]


def family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def send(address: str, lengths: list[int]) -> bool:
    connections = []
    for _ in lengths:
        connection = socket.socket(family(address), socket.SOCK_STREAM)
        connection.settimeout(TIMEOUT_S)
        connection.connect((address, PORT))
        connections.append(connection)
    # Hashed beforehand and started together, so that the connections share the wire.
    messages = [bytes([n]) + payload(n, length)[1:] for n, length in enumerate(lengths)]
    start = threading.Barrier(len(lengths))
    answers = [b""] * len(lengths)

    def one(stream: int) -> None:
        with connections[stream] as connection:
            start.wait()
            connection.sendall(messages[stream])
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(4096):
                answers[stream] += piece

    run_all([threading.Thread(target=one, args=(stream,)) for stream in range(len(lengths))])
    return answers == [f"{length}\n".encode() for length in lengths]


def receive(address: str, lengths: list[int]) -> bool:
    results = [False] * len(lengths)

    def one(slot: int, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(TIMEOUT_S)
            pieces = []
            while piece := connection.recv(1 << 16):
                pieces.append(piece)
            data = b"".join(pieces)
            stream = data[0] if data else 0
            results[slot] = data[1:] == payload(stream, lengths[stream])[1:]
            connection.sendall(f"{len(data)}\n".encode())

    with socket.socket(family(address), socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen(len(lengths))
        listener.settimeout(TIMEOUT_S)
        accepted = [listener.accept()[0] for _ in lengths]
        run_all([threading.Thread(target=one, args=pair) for pair in enumerate(accepted)])
    return all(results)


if __name__ == "__main__":
    role, address, *lengths = sys.argv[1:]
    ok = {"send": send, "receive": receive}[role](address, [int(length) for length in lengths])
    sys.exit(0 if ok else f"bulk.py {role}: the bytes did not arrive as they were sent")
