/* SPDX-License-Identifier: ISC */
/*
 * A shop of three processes that send each other requests: web asks stock, and stock asks the
 * database. Each records to a file of its own: web.thrum, stock.thrum, database.thrum. A request
 * has a header `traceparent`, which links the three recordings.
 *
 * With an argument, the backup of the database hangs, and it holds the table. With two more this is one of
 * the processes, as on a machine of its own: web, stock or database, and a folder for their sockets.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thrum/traceparent.h>
#include <unistd.h>

#define ITEMS 5

struct message {
	char header[THRUM_TRACEPARENT_SIZE];
	unsigned item;
};

static bool broken;

static bool start(const char *file)
{
	setenv("THRUM_TRACE", file, 1);
	return thrum_start(NULL) == 0;
}

/* Waits for a message. Returns false if there is none for `ms`, or the other side has ended. */
static bool receive(int socket, struct message *message, int ms)
{
	struct timeval time = {ms / 1000, ms % 1000 * 1000};
	ssize_t size;

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	size = read(socket, message, sizeof(*message));
	thrum_resume();
	return size == sizeof(*message);
}

/* Sends a request for the item, because of the one that came with `parent`. */
static void ask(int socket, thrum_task task, const char *parent, unsigned item)
{
	struct message message = {.item = item};

	THRUM_RUN (task)
		thrum_traceparent_send(parent, message.header);
	if (write(socket, &message, sizeof(message)) != sizeof(message))
		thrum_task_fail(task, "write");
}

/* How long an answer is waited for, in ms. The answer that never comes ends the example. */
static int patience(unsigned item)
{
	return broken && item == ITEMS ? 1500 : 5000;
}

/* ---- The processes -------------------------------------------------------------------------- */

static int run_web(int stock)
{
	struct message answer;

	if (!start("web.thrum"))
		return 1;
	for (unsigned item = 1; item <= ITEMS; item++) {
		thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /item/%u", item);

		thrum_task_should_resolve(request);
		ask(stock, request, NULL, item);
		if (!receive(stock, &answer, patience(item)))
			return 0;
		thrum_task_resolve(request);
	}
	return 0;
}

static int run_stock(int web, int database)
{
	struct message message, answer;

	if (!start("stock.thrum"))
		return 1;
	while (receive(web, &message, 5000)) {
		thrum_task count = thrum_task_createf(THRUM_KIND_REQUEST, "count item %u",
			message.item);

		thrum_task_should_resolve(count);
		THRUM_RUN (count)
			thrum_traceparent_receive(message.header);
		ask(database, count, message.header, message.item);
		if (!receive(database, &answer, patience(message.item)))
			return 0;
		thrum_task_resolve(count);
		if (write(web, &message, sizeof(message)) != sizeof(message))
			return 0;
	}
	return 0;
}

/* The backup takes the table, and waits for a tape that nobody brings. */
static void back_up(thrum_task table)
{
	thrum_task backup = thrum_task_create(THRUM_KIND_TASK, "backup");
	thrum_task tape = thrum_task_create(THRUM_KIND_PROMISE, "tape");

	thrum_task_should_resolve(backup);
	thrum_task_should_resolve(tape);
	THRUM_RUN (backup) {
		thrum_lock_acquired(table);
		thrum_task_wait(backup, tape);
	}
}

static int run_database(int stock)
{
	struct message message;
	thrum_task table;

	if (!start("database.thrum"))
		return 1;
	table = thrum_task_create(THRUM_KIND_LOCK, "table of items");
	while (receive(stock, &message, 5000)) {
		thrum_task query = thrum_task_createf(THRUM_KIND_TASK, "select item %u",
			message.item);

		thrum_task_should_resolve(query);
		if (broken && message.item == ITEMS)
			back_up(table);
		THRUM_RUN (query) {
			thrum_traceparent_receive(message.header);
			if (broken && message.item == ITEMS) {
				thrum_task_wait(query, table);
				break;
			}
			thrum_lock_acquired(table);
			usleep(1000);
			thrum_lock_released(table);
			thrum_task_resolve(query);
		}
		if (broken && message.item == ITEMS)
			continue;
		if (write(stock, &message, sizeof(message)) != sizeof(message))
			return 0;
	}
	return 0;
}

/* ---- Alone, or all three -------------------------------------------------------------------- */

static int make_socket(const char *folder, const char *name, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s.socket", folder, name);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

static _Noreturn void fail(const char *name)
{
	perror(name);
	exit(1);
}

/* Waits for the process that connects. */
static int serve(const char *folder, const char *name)
{
	struct sockaddr_un address;
	int listening = make_socket(folder, name, &address);

	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 1))
		fail(name);
	return accept(listening, NULL, NULL);
}

/* Connects to the process that serves, within five seconds. */
static int reach(const char *folder, const char *name)
{
	struct sockaddr_un address;
	int connecting = make_socket(folder, name, &address);

	for (int i = 0; connect(connecting, (struct sockaddr *)&address, sizeof(address)); i++) {
		if (i == 500)
			fail(name);
		usleep(10000);
	}
	return connecting;
}

static int run_alone(const char *name, const char *folder)
{
	int database;

	if (strcmp(name, "web") == 0)
		return run_web(reach(folder, "stock"));
	if (strcmp(name, "database") == 0)
		return run_database(serve(folder, "database"));
	database = reach(folder, "database");
	return run_stock(serve(folder, "stock"), database);
}

int main(int argc, char **argv)
{
	int web[2], database[2];

	broken = argc > 1;
	if (argc > 3)
		return run_alone(argv[2], argv[3]);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, web) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, database))
		return 1;
	if (fork() == 0) {
		close(web[0]), close(web[1]), close(database[0]);
		return run_database(database[1]);
	}
	close(database[1]);
	if (fork() == 0) {
		close(web[0]);
		return run_stock(web[1], database[0]);
	}
	close(web[1]), close(database[0]);
	run_web(web[0]);
	close(web[0]);
	while (wait(NULL) > 0)
		;
	return 0;
}
