/* SPDX-License-Identifier: ISC */
/* The things that `thrum watch` does when its rule comes true. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/attach.h"
#include "format/control.h"
#include "live/watch.h"
#include "source/control.h"

extern char **environ;

static const struct {
	const char *word, *value;
} actions[] = {
#define THRUM__X(NAME, word, value) {word, value},
	WATCH_ACTIONS(THRUM__X)
#undef THRUM__X
};

/* Checks a list of categories before the watch begins. */
static int check_list(const struct command *command, const char *text, const char *list)
{
	char name[THRUM__CATEGORY_NAME];
	int level = 0, result;

	while ((result = thrum__format_level_next(&list, name, &level)) > 0)
		level = 0;
	return result == 0
		? STATUS_OK
		: complain_usage(command,
			  "--do=%s: \"%s\" needs a level from 0 to 3, or off, always, info, debug or all",
			  text, name);
}

int watch_action_read(const struct command *command, const char *text, struct watch_action *action)
{
	size_t size = strcspn(text, "=");

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (strlen(actions[i].word) != size || memcmp(text, actions[i].word, size) != 0)
			continue;
		if (!text[size] || !text[size + 1])
			return complain_usage(command, "--do=%s needs a value: %s=%s",
				actions[i].word, actions[i].word, actions[i].value);
		*action = (struct watch_action){(enum watch_action_kind)i, text + size + 1};
		return i == WATCH_ENABLE || i == WATCH_DISABLE
			? check_list(command, text, action->value)
			: STATUS_OK;
	}
	return complain_usage(command,
		"--do needs snapshot=FILE, enable=CATEGORY=LEVEL, disable=CATEGORY or "
		"exec=COMMAND, not \"%s\"",
		text);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

/* Writes what a % and a letter stand for. Returns its length, or 0 for another letter. */
static size_t expand(char letter, const struct watch_event *event, char *to, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	int n = 0;

	if (letter == 'n')
		n = snprintf(to, size, "%u", event->number);
	else if (letter == 'p')
		n = snprintf(to, size, "%" PRIu32, event->live->header.pid);
	else if (letter == '%')
		n = snprintf(to, size, "%%");
	else if (letter == 't' && localtime_r(&now, &tm))
		return strftime(to, size, "%Y%m%d-%H%M%S", &tm);
	return n > 0 ? (size_t)n : 0;
}

static int take_snapshot(const char *pattern, const struct watch_event *event)
{
	char name[PATH_MAX];
	size_t used = 0;

	for (const char *p = pattern; *p; p++) {
		char piece[32] = {*p};
		size_t size = 1;

		if (*p == '%') {
			size = expand(p[1], event, piece, sizeof(piece));
			p += size > 0;
			if (size == 0)
				piece[size++] = '%';
		}
		if (used + size >= sizeof(name)) {
			complain("%.60s...: the name is too long", pattern);
			return STATUS_FAILED;
		}
		memcpy(name + used, piece, size);
		used += size;
	}
	name[used] = '\0';
	return snapshot_to_file(event->live->path, name);
}

/* ---- Categories ------------------------------------------------------------------------------ */

static int control(const char *list, enum thrum__source_verb verb, const struct watch_event *event)
{
	struct thrum__source_control *control;
	struct thrum_error_info error = {0};
	int result = thrum__source_control_open(event->live->path, &control, &error);

	if (result == 0) {
		result = thrum__source_control_set(control, verb, list, &error);
		thrum__source_control_close(control);
	}
	return result < 0 ? input_failed(event->live->path, &error) : STATUS_OK;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int run_command(const char *text, const struct watch_event *event)
{
	char shell[] = "sh", option[] = "-c", number[32];
	char *argv[] = {shell, option, (char *)text, NULL};
	posix_spawnattr_t attributes;
	sigset_t signals;
	pid_t child;
	int error;

	snprintf(number, sizeof(number), "%" PRIu32, event->live->header.pid);
	setenv("THRUM_PID", number, 1);
	snprintf(number, sizeof(number), "%u", event->number);
	setenv("THRUM_NUMBER", number, 1);
	setenv("THRUM_RECORDING", event->live->path, 1);
	setenv("THRUM_RULE", event->rule, 1);
	setenv("THRUM_NUMBERS", event->numbers, 1);
	posix_spawnattr_init(&attributes);
	/* thrum ignores it; commands don't. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(&child, "/bin/sh", NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (error != 0) {
		complain("/bin/sh: %s", strerror(error));
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

void watch_action_reap(bool is_last)
{
	pid_t child;

	do
		child = waitpid(-1, NULL, is_last ? 0 : WNOHANG);
	while (child > 0 || (child < 0 && errno == EINTR));
}

int watch_action_do(const struct watch_action *action, const struct watch_event *event)
{
	switch (action->kind) {
	case WATCH_SNAPSHOT: return take_snapshot(action->value, event);
	case WATCH_EXEC: return run_command(action->value, event);
	case WATCH_ENABLE: return control(action->value, THRUM__CONTROL_ENABLE, event);
	case WATCH_DISABLE: return control(action->value, THRUM__CONTROL_DISABLE, event);
	}
	return STATUS_FAILED;
}
