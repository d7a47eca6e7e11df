/* SPDX-License-Identifier: ISC */
/* The parts of a trace that are missing. */
#include "base/text.h"
#include "words/words.h"

static void put_count(struct thrum__base_text *text, uint64_t count, const char *one,
	const char *many)
{
	char digits[THRUM__NUMBER_ROOM];

	if (count == 0)
		return;
	thrum__base_text_put(text, text->size > 0 ? ", " : "");
	thrum__base_text_bytes(text, digits, thrum__words_number(count, digits));
	thrum__base_text_put(text, count == 1 ? one : many);
}

size_t thrum__words_missing(const struct thrum_trace_info *info, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	const char *before = " (", *name;
	char digits[THRUM__NUMBER_ROOM];

	put_count(&text, info->damaged, " place is damaged", " places are damaged");
	put_count(&text, info->gaps, " gap in a lane", " gaps in lanes");
	put_count(&text, info->lost_total, " event was not recorded", " events were not recorded");
	for (int cause = 0; (name = thrum_lost_name(cause)) != NULL; cause++) {
		if (info->lost[cause] == 0)
			continue;
		thrum__base_text_put(&text, before);
		thrum__base_text_put(&text, name);
		thrum__base_text_put(&text, ": ");
		thrum__base_text_bytes(&text, digits,
			thrum__words_number(info->lost[cause], digits));
		before = "; ";
	}
	thrum__base_text_put(&text, *before == ';' ? ")" : "");
	return text.size;
}
