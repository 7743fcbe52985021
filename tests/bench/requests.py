# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""requests.py PORT REQUESTS: asks tests/bench/serve.py or serve.js over 8 connections, one request at a time on each; prints requests a second."""
import selectors
import socket
import sys
import time

REQUEST = b"GET /rows HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CONNECTIONS = 8


def is_whole(answer):
    head, end, body = answer.partition(b"\r\n\r\n")
    length = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    if end and not head.startswith(b"HTTP/1.1 200"):
        sys.exit(f"no answer: {head!r}")
    return end and len(body) >= int(length[0])


def main(port, requests):
    selector = selectors.DefaultSelector()
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port))
        selector.register(connection, selectors.EVENT_READ, bytearray())
        connection.sendall(REQUEST)
    asked, answered, start = CONNECTIONS, 0, time.monotonic()
    while answered < requests:
        ready = selector.select(30)
        if not ready:
            sys.exit("the server does not answer")
        for key, _ in ready:
            data = key.fileobj.recv(1 << 16)
            if not data:
                sys.exit("the server has closed a connection")
            key.data.extend(data)
            if is_whole(key.data):
                key.data.clear()
                answered += 1
                if asked < requests:
                    asked += 1
                    key.fileobj.sendall(REQUEST)
    print(f"{requests / (time.monotonic() - start):.0f}")


main(int(sys.argv[1]), int(sys.argv[2]))
