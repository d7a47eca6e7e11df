/* SPDX-License-Identifier: ISC */
/*
 * A loop of libevent waits for the output of a child, which waits for the end of its input. With "fine" the
 * input is closed, with "later" a timer closes it, and with "asleep" the child takes its time. It knows
 * nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

extern char **environ;

static struct event_base *base;
static int input[2], output[2];

static void on_output(evutil_socket_t fd, short what, void *argument)
{
	char bytes[100];

	(void)what, (void)argument;
	if (read(fd, bytes, sizeof bytes) <= 0)
		event_base_loopbreak(base);
}

static void close_input(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	close(input[1]);
}

static void start(const char *program, const char *argument)
{
	char copies[2][16] = {"", ""},
	     *arguments[] = {copies[0], argument ? copies[1] : NULL, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;

	strncpy(copies[0], program, sizeof copies[0] - 1);
	strncpy(copies[1], argument ? argument : "", sizeof copies[1] - 1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
	posix_spawnp(&child, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(input[0]);
	close(output[1]);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	struct timeval later = {1, 500000};
	struct event *event;

	end_after(3);
	base = event_base_new();
	if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
		return 1;
	start(strcmp(how, "asleep") == 0 ? "sleep" : "cat",
		strcmp(how, "asleep") == 0 ? "10" : NULL);
	if (write(input[1], "abc", 3) != 3)
		return 1;
	if (strcmp(how, "fine") == 0)
		close(input[1]);
	if (strcmp(how, "later") == 0)
		event_base_once(base, -1, EV_TIMEOUT, close_input, NULL, &later);
	event = event_new(base, output[0], EV_READ | EV_PERSIST, on_output, NULL);
	event_add(event, NULL);
	event_base_dispatch(base);
	event_free(event);
	event_base_free(base);
	return 0;
}
