/* SPDX-License-Identifier: ISC */
#ifndef PROMISE_UV_ADDRESS_H
#define PROMISE_UV_ADDRESS_H

#include "promise/uv_glue.h"

/* Room for any name: `[IPv6]:port`. */
#define THRUM__ADDRESS_SIZE 64

/* `127.0.0.1:80`. */
void thrum__address_name(const struct sockaddr *address, char *name, size_t size);

#endif
