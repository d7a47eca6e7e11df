/* SPDX-License-Identifier: ISC */
/* Keys of links by which the adapters record messages over a connection between two processes of a
 * machine. They are used for message after message. */
#ifndef FORMAT_CONNECTION_H
#define FORMAT_CONNECTION_H

#include <stdint.h>

struct thrum__connection_key {
	uint8_t number[8]; /* tells the connection */
	uint8_t way;       /* the direction: 0 or 1 */
	uint8_t mark;      /* THRUM__CONNECTION_MARK */
};
_Static_assert(sizeof(struct thrum__connection_key) == 10, "wire layout");
#define THRUM__CONNECTION_MARK 0xff /* no text has this byte */

#endif
