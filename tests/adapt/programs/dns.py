# SPDX-License-Identifier: ISC
"""Answers one question for an IPv4 address with 192.0.2.7. Prints its port first."""
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    question, client = server.recvfrom(4096)
    end = question.index(0, 12) + 5
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes([192, 0, 2, 7])
    server.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] + answer, client)
