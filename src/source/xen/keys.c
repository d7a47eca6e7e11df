/* SPDX-License-Identifier: ISC */
/* Reads the texts that guests of Xen write to xenstore. A guest may write anything there. */
#include <errno.h>
#include <stdlib.h>

#include "source/xen/xen.h"

uint32_t thrum__source_xen_references(const char *text, uint32_t *references, uint32_t max)
{
	uint32_t count = 0;

	for (;;) {
		char *end;

		errno = 0;
		unsigned long first = strtoul(text, &end, 10), last = first;
		bool is_number = *text >= '0' && *text <= '9';

		if (is_number && *end == '-') {
			text = end + 1;
			is_number = *text >= '0' && *text <= '9';
			last = strtoul(text, &end, 10);
		}
		if (!is_number || errno || last > UINT32_MAX || last < first ||
			last - first >= max - count)
			return 0;
		for (; first <= last; first++)
			references[count++] = (uint32_t)first;
		if (!*end)
			return count;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* Reads a number, and the byte `end` behind it; *text becomes the place behind that. Takes neither
 * blanks nor a plus. Returns false if there is none, or a larger one than `max`. */
static bool read_number(const char **text, int base, char end, uint64_t max, uint64_t *number)
{
	char *behind;

	if (!(**text >= '0' && **text <= '9') && !(base == 16 && **text >= 'a' && **text <= 'f'))
		return false;
	errno = 0;
	*number = strtoull(*text, &behind, base);
	if (errno || *number > max || *behind != end)
		return false;
	*text = behind + (end != '\0');
	return true;
}

bool thrum__source_xen_answer(const char *text, uint64_t question, uint64_t *ns)
{
	uint64_t asked, told;

	if (!read_number(&text, 10, ' ', UINT64_MAX, &asked) || asked != question ||
		!read_number(&text, 10, '\0', INT64_MAX, &told))
		return false;
	*ns = told;
	return true;
}

bool thrum__source_xen_compared(const char *text, struct thrum__host_clock *clock)
{
	struct thrum__host_clock was;
	uint64_t ahead;
	bool is_behind;

	if (!read_number(&text, 16, ' ', UINT64_MAX, &was.boot) ||
		!read_number(&text, 10, ' ', INT64_MAX, &was.monotonic))
		return false;
	is_behind = *text == '-';
	text += is_behind;
	if (!read_number(&text, 10, ' ', INT64_MAX, &ahead) ||
		!read_number(&text, 10, '\0', INT64_MAX, &was.error))
		return false;
	was.ahead = is_behind ? -(int64_t)ahead : (int64_t)ahead;
	*clock = was;
	return true;
}
