/* SPDX-License-Identifier: ISC */
/* The names and headers of messages. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/parts.h"

/* Appends a name as one token of a subject: dots, wildcards and blanks would be taken for others. */
static char *put_token(char *to, const char *from, size_t room)
{
	const char *end = memchr(from, '\0', room);
	size_t size = end ? (size_t)(end - from) : room;

	if (size == 0)
		*to++ = '_';
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)from[i];

		*to++ = c <= ' ' || c >= 0x7f || strchr(".*>", c) ? '_' : (char)c;
	}
	return to;
}

void thrum__fleet_key(const struct thrum__header *header, const char *host, const char *program,
	char key[THRUM__FLEET_KEY])
{
	char *to = put_token(key, host, sizeof header->host);

	*to++ = '.';
	to = put_token(to, program, sizeof header->program);
	*to++ = '.';
	for (size_t i = 0; i < sizeof header->uuid; i++)
		to += sprintf(to, "%02x", header->uuid[i]);
}

void thrum__fleet_inbox(const char *host, char to[128])
{
	strcpy(to, "_INBOX.");
	*put_token(to + strlen(to), host, 64) = '\0';
}

void thrum__fleet_put_piece(const struct thrum__fleet_piece *piece, char to[THRUM__FLEET_INFO])
{
	snprintf(to, THRUM__FLEET_INFO,
		"1 %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRId64,
		piece->lane, piece->ticket, piece->from, piece->packet_size, piece->begin,
		piece->end);
}

/* Reads a number of decimal digits up to `most`. */
static bool get_number(const char **from, uint64_t most, uint64_t *number)
{
	const char *at = *from;
	uint64_t n = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
			return false;
	*from = at;
	*number = n;
	return n <= most;
}

/* Reads numbers up to `most`, with one blank between them. */
static bool get_numbers(const char *from, const uint64_t *most, size_t count, uint64_t *numbers)
{
	for (size_t i = 0; i < count; i++) {
		if (!get_number(&from, most[i], &numbers[i]) ||
			*from != (i + 1 < count ? ' ' : '\0'))
			return false;
		from += *from == ' ';
	}
	return true;
}

bool thrum__fleet_get_piece(const char *from, struct thrum__fleet_piece *piece)
{
	static const uint64_t most[] = {1, UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
		INT64_MAX, INT64_MAX};
	uint64_t numbers[7];

	if (!get_numbers(from, most, 7, numbers) || numbers[0] != 1 || numbers[2] == 0)
		return false;
	*piece = (struct thrum__fleet_piece){numbers[1], (uint32_t)numbers[2], (uint32_t)numbers[3],
		(uint32_t)numbers[4], (int64_t)numbers[5], (int64_t)numbers[6]};
	return true;
}

void thrum__fleet_put_count(const struct thrum__fleet_count *count, char to[THRUM__FLEET_INFO])
{
	snprintf(to, THRUM__FLEET_INFO,
		"1 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64,
		count->pieces, count->bytes, count->packets, count->overwritten, count->damaged,
		count->records, count->late, count->record_rate, count->byte_rate);
}

bool thrum__fleet_get_count(const char *from, struct thrum__fleet_count *count)
{
	static const uint64_t most[] = {1, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
		UINT64_MAX, UINT64_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX};
	uint64_t n[10];

	if (!get_numbers(from, most, 10, n) || n[0] != 1)
		return false;
	*count = (struct thrum__fleet_count){n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9]};
	return true;
}

void thrum__fleet_put_ping(const struct thrum__ping *ping, char to[THRUM__FLEET_INFO])
{
	snprintf(to, THRUM__FLEET_INFO,
		"1 %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		ping->asker, ping->answerer, ping->asked, ping->heard, ping->answered, ping->back);
}

bool thrum__fleet_get_ping(const void *from, size_t size, struct thrum__ping *ping)
{
	static const uint64_t most[] = {1, UINT64_MAX, UINT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
		INT64_MAX};
	char text[THRUM__FLEET_INFO];
	uint64_t n[7];

	if (size >= sizeof text)
		return false;
	memcpy(text, from, size);
	text[size] = '\0';
	if (!get_numbers(text, most, 7, n) || n[0] != 1)
		return false;
	*ping = (struct thrum__ping){n[1], n[2], (int64_t)n[3], (int64_t)n[4], (int64_t)n[5],
		(int64_t)n[6]};
	return true;
}

bool thrum__fleet_get_part(const char *subject, uint32_t *part)
{
	const char *dot = strrchr(subject, '.');
	uint64_t number;

	if (!dot)
		return false;
	dot++;
	if (!get_number(&dot, THRUM__FLEET_TABLES_MAX / THRUM__FLEET_PART, &number) || *dot)
		return false;
	*part = (uint32_t)number;
	return true;
}

bool thrum__fleet_split(const char *subject, char host[THRUM__FLEET_KEY],
	char program[THRUM__FLEET_KEY])
{
	char uuid[THRUM__FLEET_KEY];

	return strlen(subject) < THRUM__FLEET_KEY &&
		sscanf(subject, "thrum.def.%[^.].%[^.].%[^.].0", host, program, uuid) == 3;
}
