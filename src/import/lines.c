/* SPDX-License-Identifier: ISC */
/* Reads the lines of `perf script` and babeltrace2, which sched.c takes. */
#include "import/lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Reads seconds with digits behind the point, or cycles of a clock of ns, which have none. Returns their end,
 * or NULL. */
static const char *take_time(const char *at, int64_t *ns)
{
	char *end;
	int64_t seconds, digit = 100000000;

	if (!isdigit((unsigned char)*at))
		return NULL;
	seconds = strtoll(at, &end, 10);
	if (*end == ']' && seconds <= INT64_MAX / 2) {
		*ns = seconds;
		return end;
	}
	if (*end != '.' || !isdigit((unsigned char)end[1]) || seconds > INT64_MAX / 2000000000)
		return NULL;
	*ns = seconds * 1000000000;
	for (at = end + 1; isdigit((unsigned char)*at); at++, digit /= 10)
		*ns += (*at - '0') * digit;
	return at;
}

const char *thrum__import_field(const struct thrum__import_line *line, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = line->fields; (at = strstr(at, name)); at += size) {
		const char *value = at + size;

		if (at > line->fields && at[-1] != ' ' && at[-1] != '[')
			continue;
		if (*value == '=')
			return value + 1;
		if (strncmp(value, " = ", 3) == 0)
			return value + 3;
	}
	return NULL;
}

int64_t thrum__import_number(const struct thrum__import_line *line, const char *name,
	const char *other)
{
	const char *value = thrum__import_field(line, name);

	if (!value)
		value = thrum__import_field(line, other);
	return value ? strtoll(value, NULL, 10) : -1;
}

/* Ends the event's name, and steps over the name of a group before it. */
static bool take_event(struct thrum__import_line *line, char *at)
{
	char *end;

	at += strspn(at, " ");
	end = strchr(at, ':');
	line->group = NULL;
	if (end && isalnum((unsigned char)end[1])) {
		line->group = at;
		*end = '\0';
		at = end + 1;
		end = strchr(at, ':');
	}
	if (!end || end == at)
		return false;
	*end = '\0';
	line->event = at;
	line->fields = end + 1;
	return true;
}

/* "[SECONDS] HOST EVENT: { cpu_id = CPU }, ..." */
static bool take_babeltrace(struct thrum__import_line *line)
{
	const char *at = take_time(line->bytes + 1, &line->time);
	char *host = at && *at == ']' ? strchr(at, ' ') : NULL, *event;

	if (!host)
		return false;
	line->host = host + 1;
	event = strchr(host + 1, ':');
	while (event && event > host && event[-1] != ' ')
		event--;
	if (!event || event <= host || !take_event(line, event))
		return false;
	line->cpu = thrum__import_number(line, "cpu_id", "cpu_id");
	line->tid = 0;
	return true;
}

/* The number that ends, but for spaces, at `end`; 0: there is none. */
static int64_t number_before(const char *from, const char *end)
{
	while (end > from && end[-1] == ' ')
		end--;
	while (end > from && isdigit((unsigned char)end[-1]))
		end--;
	return strtoll(end, NULL, 10);
}

/* "TID [CPU] SECONDS: EVENT: ...", perhaps with a name before it */
static bool take_perf(struct thrum__import_line *line)
{
	for (char *open = line->bytes; (open = strchr(open, '[')); open++) {
		char *close;
		const char *at;

		line->cpu = strtoll(open + 1, &close, 10);
		if (close == open + 1 || *close != ']')
			continue;
		line->tid = number_before(line->bytes, open);
		line->host = NULL;
		at = take_time(close + 1 + strspn(close + 1, " "), &line->time);
		if (at && *at == ':')
			return take_event(line, line->bytes + (at + 1 - line->bytes));
	}
	return false;
}

bool thrum__import_line(struct thrum__import_line *line, const char *from, size_t size)
{
	size = size < sizeof line->bytes - 1 ? size : sizeof line->bytes - 1;
	memcpy(line->bytes, from, size);
	line->bytes[size] = '\0';
	return line->bytes[0] == '[' ? take_babeltrace(line) : take_perf(line);
}
