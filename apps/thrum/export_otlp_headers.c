/* SPDX-License-Identifier: ISC */
/* The messages whose keys are headers `traceparent`, as thrum/traceparent.h makes them. */
#include <stdlib.h>
#include <string.h>

#include "export_otlp.h"

#define KEY_BYTES 49    /* of a trace and a span, each in hexadecimal, with a - between */
#define HEADER_BYTES 55 /* of a whole header: its version, that, and its flags */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
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
static bool read_key(struct export_header *header, const char *key, size_t size)
{
	header->flags = 1;
	if (size == HEADER_BYTES && memcmp(key, "00-", 3) == 0 && key[52] == '-' &&
		read_digits(key + 53, &header->flags, 1)) {
		key += 3;
		size = KEY_BYTES;
	}
	return size == KEY_BYTES && key[32] == '-' && read_digits(key, header->trace, 16) &&
		read_digits(key + 33, header->span, 8) && !is_zero(header->trace, 16) &&
		!is_zero(header->span, 8);
}

static uint32_t known(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
}

static bool read_message(struct export_header *header, const struct thrum__model *model,
	uint32_t number)
{
	struct thrum__message *message = &header->message;
	const char *key;
	size_t size;

	if (!thrum__model_message_from_outside(model, number, message) &&
		!thrum__model_message(model, number, message))
		return false;
	message->sender = known(model, message->sender);
	message->receiver = known(model, message->receiver);
	key = thrum__model_message_key(model, number, &size);
	return read_key(header, key, size);
}

static int compare(const void *a, const void *b)
{
	const struct export_header *x = a, *y = b;

	if (x->message.received != y->message.received)
		return x->message.received < y->message.received ? -1 : 1;
	return memcmp(x->span, y->span, sizeof(x->span));
}

int export_headers_make(struct export_headers *headers, const struct thrum__model *model)
{
	uint32_t count = thrum__model_message_count(model);

	headers->all = malloc(((size_t)count + 1) * sizeof(*headers->all));
	headers->count = 0;
	if (!headers->all)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		if (read_message(&headers->all[headers->count], model, i))
			headers->count++;
	qsort(headers->all, headers->count, sizeof(*headers->all), compare);
	return 0;
}

void export_headers_free(struct export_headers *headers)
{
	free(headers->all);
}

uint32_t export_headers_find(const struct export_headers *headers, const struct thrum__model *model,
	uint32_t edge)
{
	int64_t time = THRUM__EDGE(model, edge, time);
	uint32_t first = 0, end = headers->count;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (headers->all[middle].message.received < time)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < headers->count; first++) {
		const struct thrum__message *message = &headers->all[first].message;

		if (message->received != time)
			break;
		if (message->sender == THRUM__EDGE(model, edge, from) &&
			message->receiver == THRUM__EDGE(model, edge, to))
			return first;
	}
	return THRUM__NONE;
}
