/* SPDX-License-Identifier: ISC */
/* Writes rows for ClickHouse. */
#include "store/tsv.h"

#include <string.h>

void thrum__store_tsv_init(struct thrum__store_tsv *t, unsigned count)
{
	*t = (struct thrum__store_tsv){.count = count, .out = thrum__base_text_growing()};
}

void thrum__store_tsv_begin(struct thrum__store_tsv *t, const char *columns)
{
	thrum__base_text_put(&t->out, columns);
	t->rows++;
}

static void end_cell(struct thrum__store_tsv *t)
{
	t->next = (t->next + 1) % t->count;
	thrum__base_text_byte(&t->out, t->next ? '\t' : '\n');
}

void thrum__store_tsv_number(struct thrum__store_tsv *t, int64_t number)
{
	thrum__base_text_number(&t->out, number);
	end_cell(t);
}

void thrum__store_tsv_escape(struct thrum__base_text *to, const char *text, size_t size)
{
	static const char special[] = "\b\f\n\r\t\\", names[] = "bfnrt\\";

	for (size_t i = 0; i < size; i++) {
		const char *at = text[i] ? strchr(special, text[i]) : NULL;

		if (at || !text[i])
			thrum__base_text_byte(to, '\\');
		thrum__base_text_byte(to, at ? names[at - special] : text[i] ? text[i] : '0');
	}
}

void thrum__store_tsv_text(struct thrum__store_tsv *t, const char *text, size_t size)
{
	thrum__store_tsv_escape(&t->out, text, size);
	end_cell(t);
}

void thrum__store_tsv_none(struct thrum__store_tsv *t)
{
	thrum__base_text_put(&t->out, "\\N");
	end_cell(t);
}

void thrum__store_tsv_finish(struct thrum__store_tsv *t)
{
	thrum__base_text_free(&t->out);
}
