/* SPDX-License-Identifier: ISC */
/* The messages of a model, with the numbers in keys that thrum/traceparent.h makes. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "convert/export.h"

#define KEY_BYTES 49    /* of a trace and a span, each in hexadecimal, with a - between */
#define HEADER_BYTES 55 /* of a whole header: its version, that, and its flags */

/* The header's digits are small ones. */
static int digit(char c)
{
	return c >= 'A' && c <= 'F' ? -1 : thrum__base_hex_digit(c);
}

static bool read_digits(const char *text, unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* A span that is here was sampled, unless the header says otherwise. */
static bool read_key(struct export_message *message, const char *key, size_t size)
{
	message->flags = 1;
	if (size == HEADER_BYTES && memcmp(key, "00-", 3) == 0 && key[52] == '-' &&
		read_digits(key + 53, &message->flags, 1)) {
		key += 3;
		size = KEY_BYTES;
	}
	return size == KEY_BYTES && key[32] == '-' && read_digits(key, message->trace, 16) &&
		read_digits(key + 33, message->span, 8) && !is_zero(message->trace, 16) &&
		!is_zero(message->span, 8);
}

static uint32_t known(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
}

static bool read_message(struct export_message *message, const struct thrum__model *model,
	uint32_t number)
{
	struct thrum__message *ends = &message->ends;
	const char *key;
	size_t size;

	if (!thrum__model_message_from_outside(model, number, ends) &&
		!thrum__model_message(model, number, ends))
		return false;
	ends->sender = known(model, ends->sender);
	ends->receiver = known(model, ends->receiver);
	key = thrum__model_message_key(model, number, &size);
	message->is_header = read_key(message, key, size);
	return true;
}

/* Compares when they were received, by whom, and who sent them. */
static int compare(const void *a, const void *b)
{
	const struct thrum__message *x = a, *y = b;

	if (x->received != y->received)
		return x->received < y->received ? -1 : 1;
	if (x->receiver != y->receiver)
		return x->receiver < y->receiver ? -1 : 1;
	return x->sender < y->sender ? -1 : x->sender > y->sender;
}

int export_messages_make(struct export_messages *messages, const struct thrum__model *model)
{
	uint32_t count = thrum__model_message_count(model);

	messages->all = calloc((size_t)count + 1, sizeof(*messages->all));
	messages->count = 0;
	if (!messages->all)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		if (read_message(&messages->all[messages->count], model, i))
			messages->count++;
	qsort(messages->all, messages->count, sizeof(*messages->all), compare);
	return 0;
}

void export_messages_free(struct export_messages *messages)
{
	free(messages->all);
}

uint32_t export_messages_find(const struct export_messages *messages,
	const struct thrum__model *model, uint32_t edge)
{
	const struct thrum__message ends = {.sender = THRUM__EDGE(model, edge, from),
		.receiver = THRUM__EDGE(model, edge, to),
		.received = THRUM__EDGE(model, edge, time)};
	const struct export_message *found = bsearch(&ends, messages->all, messages->count,
		sizeof(*messages->all), compare);

	return found ? (uint32_t)(found - messages->all) : THRUM__NONE;
}
