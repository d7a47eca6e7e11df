/* SPDX-License-Identifier: ISC */
/*
 * Keys of links by which the adapters record messages over a connection between two processes of a
 * machine: 8 bytes that tell the connection, the direction (0 or 1), and one that no text has. A trace
 * of several may have the name of a process and a / before them. They are used for message after message.
 * An event of receiving while the lane is suspended means that the task waits for the next message. Written
 * by adapt/sockets.c.
 */
#ifndef READ_CONNECTION_H
#define READ_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#define THRUM__CONNECTION_KEY 10
#define THRUM__CONNECTION_END 2 /* bytes behind those that tell the connection */

/* Keys of programs may be any bytes, such as a number or a UUID. */
static inline bool thrum__read_is_connection(const char *key, size_t size)
{
	return size >= THRUM__CONNECTION_KEY && (unsigned char)key[size - 1] == 0xff &&
		(key[size - 2] == 0 || key[size - 2] == 1) &&
		(size == THRUM__CONNECTION_KEY || key[size - THRUM__CONNECTION_KEY - 1] == '/');
}

/* The direction in which such a message goes. */
static inline unsigned thrum__read_connection_way(const char *key, size_t size)
{
	return key[size - THRUM__CONNECTION_END] & 1;
}

#endif
