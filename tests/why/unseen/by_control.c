/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: tmux pull request #5356 ("client: do not restore blocking mode while the server may still write to the
 *     tty"): the client process that leaves has cleared O_NONBLOCK, which belongs to the open file and not to its
 *     descriptor, so that the server's own descriptor blocks, too. Its terminal doesn't read any more. So the
 *     server's event loop hangs in tty_write, a write to that terminal's pipe, and all sessions with it.
 *   culprit: tty_write
 *   victim: on_second_session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A terminal multiplexer: the server writes the output of sessions to the terminals of its clients, by
 * descriptors that it shares with them. Clients and terminals are processes. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 4
#define LINE 2048
#define BACKLOG (96 * 1024)

static struct event_base *base;
static bool careful;

/* The client that is attached now. */
static struct {
	int tty;
	int messages;
	pid_t process;
	pid_t terminal;
	struct event *on_message;
	struct event *on_room;
	char *backlog;
	size_t pending;
	bool stalls;
} client;

static int round_number;
static unsigned lines;
static unsigned discarded;
static FILE *second_session;

static void set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

static _Noreturn void run_terminal(int output, bool stalls)
{
	char buffer[4096];
	size_t shown = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!stalls || shown < 8 * LINE) {
		ssize_t size = read(output, buffer, sizeof buffer);

		if (size <= 0)
			_exit(0);
		shown += (size_t)size;
	}
	for (;;)
		pause(); /* its connection is dead, but nobody has told it */
}

static _Noreturn void run_client(int tty, int messages, int stay_ms)
{
	char answer;

	usleep((useconds_t)stay_ms * 1000);
	if (!careful)
		set_blocking(tty, true); /* the shell, which comes next, expects that */
	if (write(messages, "d", 1) != 1)
		_exit(1);
	while (read(messages, &answer, 1) == 1 && answer != 'x')
		continue;
	if (careful)
		set_blocking(tty, true);
	_exit(0);
}

/* Writes what there is room for. */
static void tty_write(void)
{
	while (client.pending) {
		ssize_t size = write(client.tty, client.backlog, client.pending);

		if (size < 0) {
			if (errno == EAGAIN)
				event_add(client.on_room, NULL);
			else
				client.pending = 0;
			return;
		}
		client.pending -= (size_t)size;
		memmove(client.backlog, client.backlog + size, client.pending);
	}
}

static void on_room(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	tty_write();
}

static void client_print(const char *text, size_t size)
{
	if (client.pending + size > BACKLOG) {
		discarded++;
		return;
	}
	memcpy(client.backlog + client.pending, text, size);
	client.pending += size;
	tty_write();
}

static void attach(void);

static void detach(void)
{
	event_free(client.on_message);
	event_free(client.on_room);
	close(client.tty);
	close(client.messages);
	waitpid(client.process, NULL, 0);
	kill(client.terminal, SIGTERM);
	waitpid(client.terminal, NULL, 0);
	client.process = 0;
	if (++round_number < ROUNDS + 2)
		attach();
	else
		event_base_loopexit(base, NULL);
}

/* The client asks to leave. */
static void on_message(evutil_socket_t fd, short what, void *data)
{
	char message;

	(void)what;
	(void)data;
	if (read(fd, &message, 1) != 1)
		return;
	client_print("%exit\n", 6);
	tty_write();
	if (write(fd, "x", 1) == 1)
		detach();
}

static void attach(void)
{
	int output[2];
	int messages[2];

	client.stalls = round_number == ROUNDS;
	client.pending = 0;
	if (pipe(output) || socketpair(AF_UNIX, SOCK_STREAM, 0, messages))
		abort();
	client.terminal = fork();
	if (!client.terminal) {
		close(output[1]);
		close(messages[0]);
		close(messages[1]);
		run_terminal(output[0], client.stalls);
	}
	close(output[0]);
	set_blocking(output[1], false);
	client.process = fork();
	if (!client.process) {
		close(messages[0]);
		run_client(output[1], messages[1], client.stalls ? 700 : 150);
	}
	close(messages[1]);
	client.tty = output[1];
	client.messages = messages[0];
	client.on_message = event_new(base, client.messages, EV_READ | EV_PERSIST, on_message,
		NULL);
	client.on_room = event_new(base, client.tty, EV_WRITE, on_room, NULL);
	event_add(client.on_message, NULL);
}

/* The program in the first session prints a screenful. */
static void on_output(evutil_socket_t fd, short what, void *data)
{
	char line[LINE];

	(void)fd;
	(void)what;
	(void)data;
	memset(line, '#', sizeof line);
	line[LINE - 1] = '\n';
	client_print(line, sizeof line);
	lines++;
}

/* A session without a client, which is only logged. */
static void on_second_session(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	fprintf(second_session, "%u\n", lines);
}

int main(int argc, char **argv)
{
	struct timeval often = {0, 10000};
	struct timeval seldom = {0, 50000};
	struct event *output;
	struct event *other;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	client.backlog = malloc(BACKLOG);
	second_session = fopen("/dev/null", "w");
	if (!base || !client.backlog || !second_session)
		return 1;
	attach();
	output = event_new(base, -1, EV_PERSIST, on_output, NULL);
	other = event_new(base, -1, EV_PERSIST, on_second_session, NULL);
	event_add(output, &often);
	event_add(other, &seldom);
	event_base_dispatch(base);
	event_free(output);
	event_free(other);
	event_base_free(base);
	free(client.backlog);
	printf("%u lines, %u discarded\n", lines, discarded);
	return 0;
}
