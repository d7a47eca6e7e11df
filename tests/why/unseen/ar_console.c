/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: while an operator is connected, pause_accepting takes the listening socket out of the loop.
 *     session_event puts it back when the operator leaves, but refuse_line, which throws operator-2 out
 *     because of a line that is too long, doesn't. operator-3 is connected, but never accepted, and waits
 *     for the banner.
 *   culprit: refuse_line|pause_accepting|operator_came|listener
 *   victim: operator-3|read_line
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The console of a device over TCP, on libevent: for one operator at a time. */

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_LINE 64
#define NOPERATORS 3

struct operator_script {
	const char *name;
	long comes_ms;
	const char *line;
	int answered;
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct event *uptime_event;
static struct sockaddr_in address;
static int sessions_over;
static unsigned uptime;

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* The device has one console: the next operator waits in the backlog. */
__attribute__((noinline)) void pause_accepting(void)
{
	evconnlistener_disable(listener);
}

__attribute__((noinline)) void end_session(struct bufferevent *session)
{
	bufferevent_free(session);
	if (++sessions_over == NOPERATORS)
		event_base_loopexit(base, NULL);
}

__attribute__((noinline)) void refuse_line(struct bufferevent *session)
{
	evutil_socket_t fd = bufferevent_getfd(session);
	static const char text[] = "? line too long, bye\n";

	/* Directly, as the buffers are freed now. */
	if (write(fd, text, sizeof(text) - 1) < 0)
		perror("console: write");
	end_session(session);
}

__attribute__((noinline)) void run_command(struct bufferevent *session, const char *command)
{
	struct evbuffer *output = bufferevent_get_output(session);

	if (!strcmp(command, "uptime"))
		evbuffer_add_printf(output, "up %u\n", uptime);
	else if (!strncmp(command, "echo ", 5))
		evbuffer_add_printf(output, "%s\n", command + 5);
	else
		evbuffer_add_printf(output, "? unknown\n");
}

void session_lines(struct bufferevent *session, void *unused)
{
	struct evbuffer *input = bufferevent_get_input(session);
	char *line;
	size_t n;

	(void)unused;
	while ((line = evbuffer_readln(input, &n, EVBUFFER_EOL_LF))) {
		if (n > LONGEST_LINE) {
			free(line);
			refuse_line(session);
			return;
		}
		run_command(session, line);
		free(line);
	}
}

void session_event(struct bufferevent *session, short what, void *unused)
{
	(void)unused;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		end_session(session);
		evconnlistener_enable(listener);
	}
}

void operator_came(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *peer,
	int length, void *unused)
{
	struct bufferevent *session;

	(void)from;
	(void)peer;
	(void)length;
	(void)unused;
	session = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(session, session_lines, NULL, session_event, NULL);
	bufferevent_enable(session, EV_READ | EV_WRITE);
	evbuffer_add_printf(bufferevent_get_output(session), "device ready\n");
	pause_accepting();
}

void uptime_tick(evutil_socket_t fd, short what, void *unused)
{
	(void)fd;
	(void)what;
	(void)unused;
	uptime++;
}

/* Reads until the end of a line. */
__attribute__((noinline)) int read_line(int fd, char *line, int size)
{
	int used = 0;

	while (used < size - 1 && read(fd, line + used, 1) == 1) {
		if (line[used++] == '\n')
			break;
	}
	line[used] = '\0';
	return used;
}

static void *run_operator(void *argument)
{
	struct operator_script *script = argument;
	char line[256];
	int fd;

	pthread_setname_np(pthread_self(), script->name);
	sleep_ms(script->comes_ms);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror("console: connect");
		exit(1);
	}
	if (read_line(fd, line, sizeof(line)) > 0) {
		dprintf(fd, "%s\n", script->line);
		script->answered = read_line(fd, line, sizeof(line)) > 0;
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct operator_script scripts[NOPERATORS] = {
		{.name = "operator-1", .comes_ms = 20, .line = "uptime"},
		{.name = "operator-2",
			.comes_ms = 200,
			.line = "echo the maintenance of the pump is done"},
		{.name = "operator-3", .comes_ms = 400, .line = "uptime"},
	};
	const struct timeval second = {.tv_usec = 300000};
	socklen_t length = sizeof(address);
	pthread_t threads[NOPERATORS];
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken"))
		scripts[1].line =
			"echo the maintenance of the pump is done, but its second valve shall be looked at tomorrow";
	base = event_base_new();
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, operator_came, NULL,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 8, (struct sockaddr *)&address,
		sizeof(address));
	if (!listener ||
		getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &length) <
			0) {
		perror("console: listen");
		return 1;
	}
	uptime_event = event_new(base, -1, EV_PERSIST, uptime_tick, NULL);
	event_add(uptime_event, &second);
	for (i = 0; i < NOPERATORS; i++)
		pthread_create(&threads[i], NULL, run_operator, &scripts[i]);
	event_base_dispatch(base);
	for (i = 0; i < NOPERATORS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NOPERATORS; i++)
		printf("%s: %s\n", scripts[i].name, scripts[i].answered ? "answered" : "no answer");
	event_free(uptime_event);
	evconnlistener_free(listener);
	event_base_free(base);
	return 0;
}
