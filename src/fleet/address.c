/* SPDX-License-Identifier: ISC */
/* Addresses of recordings that a server keeps. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "fleet/fleet.h"
#include "read/read.h"

#define SECOND INT64_C(1000000000)

/* Copies a part of an address, with %XX as a byte. False: it is too long, or has a NUL. */
static bool unescape(const char *from, size_t size, char *to, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		char c = from[i];

		if (c == '%' && i + 2 < size && thrum__base_hex_digit(from[i + 1]) >= 0 &&
			thrum__base_hex_digit(from[i + 2]) >= 0) {
			c = (char)(thrum__base_hex_digit(from[i + 1]) * 16 +
				thrum__base_hex_digit(from[i + 2]));
			i += 2;
		}
		if (c == '\0' || used + 1 >= room)
			return false;
		to[used++] = c;
	}
	to[used] = '\0';
	return true;
}

/* ---- Times ---------------------------------------------------------------------------------- */

/* 90s, 10m, 2h, 1d */
static bool parse_length(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (thrum__base_hex_digit(*text) < 0 || number > 1000000)
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].name) == 0) {
			*ns = (int64_t)number * units[i].seconds * SECOND;
			return true;
		}
	return false;
}

/* 10:00, 10:00:30, 2026-11-23T10:00, with Z at the end for UTC; without a day the latest such time
 * up to now. */
static bool parse_time(const char *text, int64_t now, int64_t *ns)
{
	time_t seconds = (time_t)(now / SECOND);
	struct tm parts;
	int year, month, day, used = 0;
	bool has_day = sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3;

	localtime_r(&seconds, &parts);
	parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
	if (has_day) {
		parts.tm_year = year - 1900;
		parts.tm_mon = month - 1;
		parts.tm_mday = day;
		text += used;
		text += *text == 'T' || *text == ' ';
	}
	used = 0;
	if ((!has_day || *text) &&
		sscanf(text, "%2d:%2d%n", &parts.tm_hour, &parts.tm_min, &used) != 2)
		return false;
	text += used;
	if (sscanf(text, ":%2d%n", &parts.tm_sec, &used) == 1)
		text += used;
	if (*text && strcmp(text, "Z") != 0)
		return false;
	parts.tm_isdst = -1;
	seconds = *text ? timegm(&parts) : mktime(&parts);
	if (!has_day && (int64_t)seconds * SECOND > now) {
		parts.tm_mday--;
		parts.tm_isdst = -1;
		seconds = *text ? timegm(&parts) : mktime(&parts);
	}
	*ns = (int64_t)seconds * SECOND;
	return true;
}

/* ---- Addresses ------------------------------------------------------------------------------ */

static int bad_value(const char *name, const char *value, struct thrum_error_info *info)
{
	if (strcmp(name, "last") == 0)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"last=%.40s is no time such as 10m, 90s, 2h or 1d", value);
	return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
		"%s=%.40s is no time such as 10:05, 10:05:30 or 2026-11-23T10:05", name, value);
}

/* Whether a text is a subject without wildcards. */
static bool is_subject(const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++) {
		bool is_edge = i == 0 || i + 1 == size || text[i + 1] == '.';

		if ((unsigned char)text[i] <= ' ' || strchr("*>", text[i]) ||
			(text[i] == '.' && is_edge))
			return false;
	}
	return size > 0;
}

/* Takes what stands between two &. */
static int take_parameter(struct thrum__fleet_address *a, const char *text, size_t size,
	int64_t now, struct thrum_error_info *info)
{
	const struct {
		const char *name;
		char *to;
	} files[] = {{"creds", a->creds}, {"ca", a->authority}, {"cert", a->certificate},
		{"key", a->key}};
	char name[16], value[sizeof a->creds];
	const char *sign = memchr(text, '=', size);
	size_t before = sign ? (size_t)(sign - text) : size;
	int64_t length;

	if (!sign || !unescape(text, before, name, sizeof name) ||
		!unescape(sign + 1, size - before - 1, value, sizeof value))
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"%.*s is not NAME=VALUE, or too long", size < 40 ? (int)size : 40, text);
	if (strcmp(name, "from") == 0)
		return parse_time(value, now, &a->from) ? 0 : bad_value(name, value, info);
	if (strcmp(name, "to") == 0)
		return parse_time(value, now, &a->until) ? 0 : bad_value(name, value, info);
	if (strcmp(name, "last") == 0) {
		if (!parse_length(value, &length))
			return bad_value(name, value, info);
		a->from = now - length;
		return 0;
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (strcmp(name, files[i].name) == 0) {
			strcpy(files[i].to, value);
			return 0;
		}
	if (strcmp(name, "inbox") != 0)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"an address has no %s: there are from, to, last, creds, ca, cert, key and inbox",
			name);
	if (!is_subject(value) || strlen(value) >= sizeof a->inbox - 40)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"inbox=%.40s is no subject such as _INBOX.reader", value);
	strcpy(a->inbox, value);
	return 0;
}

/* Whether there are servers, with commas between them, and not too many. */
static bool has_servers(const char *server)
{
	const char *at = strrchr(server, '@');
	int count = 0;

	at = at ? at + 1 : strstr(server, "://") + 3;
	for (; count <= THRUM__FLEET_SERVERS_MAX; count++, at++) {
		size_t size = strcspn(at, ",");

		if (size == 0)
			return false;
		at += size;
		if (*at == '\0')
			return count < THRUM__FLEET_SERVERS_MAX;
	}
	return false;
}

int thrum__fleet_parse(const char *text, int64_t now, struct thrum__fleet_address *to,
	struct thrum_error_info *info)
{
	struct thrum__fleet_address a = {.from = INT64_MIN, .until = INT64_MAX};
	const char *host = strstr(text, "://"), *path, *query;
	int error = 0;

	if (!host || host[3] == '\0' || strchr("/?", host[3]) ||
		(strncmp(text, "nats:", 5) != 0 && strncmp(text, "tls:", 4) != 0))
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"an address is nats://SERVER or tls://SERVER, then /PATTERN?last=10m");
	path = host + 3 + strcspn(host + 3, "/?");
	query = path + strcspn(path, "?");
	if (!unescape(text, (size_t)(path - text), a.server, sizeof a.server) ||
		!unescape(path + (*path == '/'), (size_t)(query - path - (*path == '/')), a.pattern,
			sizeof a.pattern))
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0, "the address is too long");
	if (!has_servers(a.server))
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"it names no server, or more than %d", THRUM__FLEET_SERVERS_MAX);
	while (error == 0 && *query) {
		const char *next = query + 1 + strcspn(query + 1, "&");

		if (next > query + 1)
			error = take_parameter(&a, query + 1, (size_t)(next - query - 1), now,
				info);
		query = next;
	}
	if (error == 0 && a.from > a.until)
		error = thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"it ends before it begins");
	if (error == 0)
		*to = a;
	return error;
}

bool thrum__fleet_matches(const char *pattern, const char *host, const char *program)
{
	char both[256];

	if (!*pattern)
		return true;
	snprintf(both, sizeof both, "%s/%s", host, program);
	if (strchr(pattern, '/'))
		return fnmatch(pattern, both, 0) == 0;
	return fnmatch(pattern, host, 0) == 0 || fnmatch(pattern, program, 0) == 0;
}
