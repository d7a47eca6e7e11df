/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: load_table writes all its rows before it reads the first answer. The database process answers each row by a write
 *     that blocks, so when the answers fill the socket, it reads no more rows, and both processes block in write.
 *   culprit: load_table|send_row
 *   victim: heartbeat|answer_row
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Loads a table into a small database, which is a process of its own behind a Unix socket. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SMALL_ROWS = 200,
	LARGE_ROWS = 60000,
	WINDOW = 64,
	LINE = 48
};

struct session {
	int socket;
	unsigned sent;
	unsigned answered;
	char line[LINE];
};

static bool uses_window;
static atomic_uint rows_loaded;

static void write_all(int descriptor, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t count = write(descriptor, bytes, size);

		if (count <= 0)
			_exit(1);
		bytes += count;
		size -= (size_t)count;
	}
}

static bool read_line(int descriptor, char *line)
{
	size_t size = 0;

	while (size < LINE) {
		ssize_t count = read(descriptor, line + size, LINE - size);

		if (count <= 0)
			return false;
		size += (size_t)count;
	}
	line[LINE - 1] = '\0';
	return true;
}

/* ---- The database ---- */

static void answer_row(int client, const char *row, unsigned long number)
{
	char answer[LINE] = "";

	snprintf(answer, sizeof(answer), "OK %lu %.12s", number, row);
	write_all(client, answer, sizeof(answer));
}

static void serve_clients(int loader, int monitor)
{
	struct pollfd clients[2] = {{loader, POLLIN, 0}, {monitor, POLLIN, 0}};
	unsigned long rows = 0;
	char line[LINE];

	for (;;) {
		if (poll(clients, 2, -1) < 0)
			_exit(1);
		if (clients[0].revents) {
			if (!read_line(loader, line))
				_exit(0);
			answer_row(loader, line, ++rows);
		}
		if (clients[1].revents & POLLIN && read_line(monitor, line))
			answer_row(monitor, "alive", rows);
	}
}

/* ---- The loader ---- */

static void send_row(struct session *session, const char *table)
{
	memset(session->line, 0, sizeof(session->line));
	snprintf(session->line, sizeof(session->line), "PUT %s %u %u", table, session->sent,
		session->sent * 7919);
	write_all(session->socket, session->line, sizeof(session->line));
	session->sent++;
}

static void read_answer(struct session *session)
{
	char answer[LINE];

	if (!read_line(session->socket, answer) || strncmp(answer, "OK", 2)) {
		fprintf(stderr, "row %u is not stored\n", session->answered);
		exit(1);
	}
	session->answered++;
	atomic_fetch_add(&rows_loaded, 1);
}

static void load_table(struct session *session, const char *table, unsigned rows)
{
	session->sent = session->answered = 0;
	while (session->sent < rows) {
		if (uses_window && session->sent - session->answered == WINDOW)
			read_answer(session);
		send_row(session, table);
	}
	while (session->answered < rows)
		read_answer(session);
	printf("%s: %u rows\n", table, rows);
	fflush(stdout);
}

static void *heartbeat(void *data)
{
	int monitor = *(int *)data;
	char line[LINE] = "PING";

	pthread_setname_np(pthread_self(), "heartbeat");
	for (;;) {
		struct pollfd answer = {monitor, POLLIN, 0};
		struct timespec pause = {0, 100000000};

		memset(line, 0, sizeof(line));
		strcpy(line, "PING");
		write_all(monitor, line, sizeof(line));
		if (poll(&answer, 1, 500) == 1)
			read_line(monitor, line);
		else
			fprintf(stderr, "the database doesn't answer\n");
		fprintf(stderr, "%u rows so far\n", atomic_load(&rows_loaded));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	int load[2];
	int watch[2];
	struct session session;
	pthread_t thread;
	pid_t database;

	if (count < 2)
		return 2;
	uses_window = !strcmp(arguments[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, load) || socketpair(AF_UNIX, SOCK_STREAM, 0, watch))
		return 1;
	database = fork();
	if (database == 0) {
		close(load[0]);
		close(watch[0]);
		serve_clients(load[1], watch[1]);
	}
	close(load[1]);
	close(watch[1]);
	session.socket = load[0];
	pthread_create(&thread, NULL, heartbeat, &watch[0]);
	load_table(&session, "countries", SMALL_ROWS);
	load_table(&session, "currencies", SMALL_ROWS);
	load_table(&session, "addresses", LARGE_ROWS);
	close(load[0]);
	waitpid(database, NULL, 0);
	return 0;
}
