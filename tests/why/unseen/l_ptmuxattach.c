/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: For an unknown session attach_session prints the error and returns without sending the exit message, so the client waits for "exit message 3" for ever.
 *   culprit: exit message 3|attach_session
 *   victim: client 3
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about tmux: `attach-session -t unknown` prints its error and hangs; the client sits in its event loop
 * and is never told to exit.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CLIENTS = 3
};

static struct thrum_loop *loop;
static struct thrum_resolver *exits[CLIENTS];
static const char *const targets[CLIENTS] = {"main", "mail", "unknown"};
static bool broken;

static bool find_session(const char *name)
{
	return !strcmp(name, "main") || !strcmp(name, "mail");
}

static void send_exit(int client, int status)
{
	struct thrum_resolver *resolver = exits[client];

	exits[client] = NULL;
	thrum_resolver_resolve(resolver, thrum_value_int(status));
}

/* The server's side of the command. */
static struct thrum_promise *attach_session(struct thrum_loop *in, void *value, void *data)
{
	int client = (int)(intptr_t)data;

	(void)value;
	if (!find_session(targets[client])) {
		printf("can't find session: %s\n", targets[client]);
		if (!broken)
			send_exit(client, 1);
		return thrum_promise_return(in, thrum_value_none());
	}
	send_exit(client, 0);
	return thrum_promise_return(in, thrum_value_none());
}

/* The client: sends its command, and waits for the message to exit. */
static struct thrum_promise *run_client(int client)
{
	struct thrum_promise *told, *command, *both[2];

	told = thrum_promise_wait(loop, "exit message", &exits[client]);
	thrum_promise_labelf(told, "exit message %d", client + 1);
	command = thrum_promise_bind(thrum_sleep(loop, 10 * (uint64_t)(client + 1)), attach_session,
		(void *)(intptr_t)client, NULL);
	thrum_promise_labelf(command, "attach-session -t %s", targets[client]);
	both[0] = command;
	both[1] = told;
	return thrum_promise_labelf(thrum_promise_join(loop, both, 2), "client %d", client + 1);
}

static void redraw_status(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_promise *clients[CLIENTS];
	uv_timer_t status_line;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &status_line);
	uv_timer_start(&status_line, redraw_status, 100, 100);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = thrum_promise_should_resolve(run_client(i));
	error = thrum_promise_run(thrum_promise_join(loop, clients, CLIENTS));
	printf("clients: %s\n", thrum_promise_error_message(error));
	return 0;
}
