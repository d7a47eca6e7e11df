/* SPDX-License-Identifier: ISC */
#include "port/port.h"

void thrum__port_put_hex(char *to, uint64_t number)
{
	int digits = 1;

	while (digits < 16 && number >> (4 * digits))
		digits++;
	to[digits] = '\0';
	for (; digits > 0; number >>= 4)
		to[--digits] = "0123456789abcdef"[number & 15];
}
