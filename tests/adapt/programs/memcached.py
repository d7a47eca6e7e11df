# SPDX-License-Identifier: ISC
"""Stores and gets values through a memcached server. Argument: its socket."""
import socket
import sys
import time

for _ in range(6000):
    try:
        connections = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for connection in connections:
            connection.connect(sys.argv[1])
        break
    except OSError:
        time.sleep(0.01)
for i in range(100):
    for connection in connections:
        connection.sendall(b"set key%d 0 0 5\r\nvalue\r\nget key%d\r\n" % (i, i))
        wanted = b"STORED\r\nVALUE key%d 0 5\r\nvalue\r\nEND\r\n" % i
        answer = b""
        while len(answer) < len(wanted):
            answer += connection.recv(1000)
        assert answer == wanted, answer
