/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "read/off_cpu.h"

static const char *const words[] = {
#define X(name, words) words,
	THRUM__OFF_CPU_WORDS(X)
#undef X
};

const char *thrum__read_off_cpu_text(enum thrum__off_cpu_state state,
	enum thrum__off_cpu_waker waker)
{
	if (state == THRUM__OFF_CPU_WOKEN && waker == THRUM__OFF_CPU_BY_INTERRUPT)
		return "woken by an interrupt";
	if (state == THRUM__OFF_CPU_WOKEN && waker == THRUM__OFF_CPU_BY_PROGRAM)
		return "woken by another program";
	return words[state];
}

enum thrum__off_cpu_state thrum__read_off_cpu_state(const char *text, size_t size)
{
	const char *by = size > 0 ? memchr(text, ' ', size) : NULL;

	for (unsigned i = 0; i < THRUM__OFF_CPU_STATES; i++) {
		/* The waker follows. */
		size_t compared = i == THRUM__OFF_CPU_WOKEN && by ? (size_t)(by - text) : size;

		if (strlen(words[i]) == compared && memcmp(text, words[i], compared) == 0)
			return (enum thrum__off_cpu_state)i;
	}
	return THRUM__OFF_CPU_BLOCKED;
}
