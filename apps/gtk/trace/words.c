/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "trace/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *trace_words_count(uint64_t count, char room[THRUM__NUMBER_ROOM])
{
	thrum__words_number(count, room);
	return room;
}

static void begin_line(GString *message)
{
	if (message->len > 0)
		g_string_append_c(message, '\n');
}

/* "Byte 4,096: damaged header: …". The reader's message says how to go on. */
void trace_words_error(const struct thrum_error_info *error, GString *message)
{
	char room[THRUM__NUMBER_ROOM];

	begin_line(message);
	if (error->offset > 0)
		g_string_append_printf(message,
			"Byte %s: ", trace_words_count(error->offset, room));
	g_string_append(message, error->message[0] ? error->message : "reading failed");
}

void trace_words_lost(const struct thrum_trace_info *info, GString *message)
{
	char words[1000];

	if (thrum__words_missing(info, words, sizeof words) == 0)
		return;
	begin_line(message);
	words[0] = g_ascii_toupper(words[0]);
	g_string_append_printf(message, "%s.", words);
	/* Other losses have no place in time, such as tasks that the table of live tasks lacks. */
	if (info->gaps > 0 || info->damaged > 0)
		g_string_append(message,
			" The rest is shown. A crossed hatch marks where events are missing.");
}

/* Returns the signal that ended a process, or 0 if it isn't known. Until the parent has waited for
 * the process, field 52 of /proc/PID/stat is its status as of waitpid. */
static int signal_of(int64_t pid)
{
	char path[64], *text = NULL, *rest, **fields;
	int status = 0;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	/* Field 2 is the name in parentheses and may contain any bytes; field 3 is the state. */
	rest = strrchr(text, ')');
	fields = g_strsplit(rest ? rest : "", " ", -1);
	if (g_strv_length(fields) > 50 && strcmp(fields[1], "Z") == 0)
		status = (int)g_ascii_strtoll(fields[50], NULL, 10);
	g_strfreev(fields);
	g_free(text);
	return status & 0x7f;
}

const char *trace_words_signal(const struct thrum_trace_info *info)
{
	int number = info->ending == THRUM_ENDING_KILLED ? info->ending_code
		: strcmp(info->state, "killed") == 0     ? signal_of(info->pid)
							 : 0;

	return number ? sigabbrev_np(number) : NULL;
}

void trace_words_end(const struct thrum_trace_info *info, GString *message)
{
	const char *program = info->program[0] ? info->program : "The program";
	const char *name = trace_words_signal(info);

	begin_line(message);
	if (name)
		g_string_append_printf(message, "%s (%" PRId64 ") was ended by SIG%s.", program,
			info->pid, name);
	else if (info->ending == THRUM_ENDING_EXITED && info->ending_code >= 0)
		g_string_append_printf(message, "%s (%" PRId64 ") has exited with status %d.",
			program, info->pid, info->ending_code);
	else if (strcmp(info->state, "killed") == 0)
		g_string_append_printf(message, "%s (%" PRId64 ") was killed or has crashed.",
			program, info->pid);
	else
		g_string_append_printf(message, "%s (%" PRId64 ") has stopped recording.", program,
			info->pid);
	g_string_append(message, " All events until then are shown.");
}

char *trace_words_process(int pid)
{
	char path[64], *name = NULL, *words, *valid;

	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	if (g_file_get_contents(path, &name, NULL, NULL))
		g_strchomp(name);
	words = g_strdup_printf("%s (%d)", name ? name : "process", pid);
	valid = g_utf8_make_valid(words, -1);
	g_free(words);
	g_free(name);
	return valid;
}

char *trace_words_progress(int kib_read, int kib_all)
{
	char *read, *all, *words;

	if (kib_all == 0)
		return g_strdup("opening");
	if (kib_read > kib_all)
		return g_strdup("laying out");
	read = g_format_size((guint64)kib_read << 10);
	all = g_format_size((guint64)kib_all << 10);
	words = g_strdup_printf("reading %s of %s", read, all);
	g_free(read);
	g_free(all);
	return words;
}
