/* SPDX-License-Identifier: ISC */
#ifndef PROMISE_UV_ADDRESS_H
#define PROMISE_UV_ADDRESS_H

#include "promise/uv/glue.h"

/* Room for the name of any address, `[IPv6]:port` included. */
#define THRUM__PROMISE_ADDRESS_SIZE 64

/* Writes the name of an address, such as `127.0.0.1:80`. An address that is neither IPv4 nor IPv6
 * gives `?:0`. */
void thrum__promise_address_name(const struct sockaddr *address, char *name, size_t size);

#endif
