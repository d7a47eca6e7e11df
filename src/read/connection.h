/* SPDX-License-Identifier: ISC */
/*
 * Tells the keys of connections from those of programs: format/format.h. A trace of several may have
 * the name of a process and a / before them. An event of receiving while the lane is suspended means that
 * the task waits for the next message.
 */
#ifndef READ_CONNECTION_H
#define READ_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format.h"

#define THRUM__CONNECTION_KEY sizeof(struct thrum__connection_key)
/* Bytes behind those that tell the connection; the first of them is the direction. */
#define THRUM__CONNECTION_END (THRUM__CONNECTION_KEY - offsetof(struct thrum__connection_key, way))

/* Keys of programs may be any bytes, such as a number or a UUID. */
static inline bool thrum__read_is_connection(const char *key, size_t size)
{
	return size >= THRUM__CONNECTION_KEY &&
		(unsigned char)key[size - 1] == THRUM__CONNECTION_MARK &&
		(unsigned char)key[size - THRUM__CONNECTION_END] <= 1 &&
		(size == THRUM__CONNECTION_KEY || key[size - THRUM__CONNECTION_KEY - 1] == '/');
}

/* The direction in which such a message goes. */
static inline unsigned thrum__read_connection_way(const char *key, size_t size)
{
	return key[size - THRUM__CONNECTION_END] & 1;
}

#endif
