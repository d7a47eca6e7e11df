/* SPDX-License-Identifier: ISC */
/*
 * One of several processes in a row: station NAME PORT 0 SLOW STUCK. It takes requests over TCP at a port,
 * which it prints, and asks the station at PORT for each; 0: it is the last one, and does the work. Requests
 * have headers `traceparent`, and answers links of their own. station NAME PORT COUNT SLOW STUCK takes none,
 * but makes that many, one after the other. The request SLOW takes longer, and STUCK is never answered.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thrum/traceparent.h>
#include <unistd.h>

#define PATIENCE 20 /* s */

struct message {
	char header[THRUM_TRACEPARENT_SIZE];
	unsigned number;
};

static int slow, stuck;

static void set_patience(int socket, int seconds)
{
	struct timeval time = {.tv_sec = seconds};
	int on = 1;

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* Waits for the first process that asks. */
static int take(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one;

	if (bind(listener, (void *)&address, size) || listen(listener, 1) ||
		getsockname(listener, (void *)&address, &size))
		return -1;
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	one = accept(listener, NULL, NULL);
	if (one >= 0)
		set_patience(one, PATIENCE);
	return one;
}

static int reach(int port)
{
	struct sockaddr_in address = loopback(port);
	int to = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(to, (void *)&address, sizeof(address)))
		return -1;
	set_patience(to, PATIENCE);
	return to;
}

static bool receive(int socket, struct message *message)
{
	bool is_there;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	is_there = recv(socket, message, sizeof(*message), MSG_WAITALL) == sizeof(*message);
	/* As if it had been under way for longer. */
	if (is_there && (int)message->number == slow && *message->header)
		usleep(20000);
	thrum_resume();
	return is_there;
}

/* Links the answer to a request, which the running task sends or receives: the number of its span, and a
 * word. */
static void link_answer(const struct message *request, void (*link)(const void *, size_t))
{
	char key[32];
	int size = snprintf(key, sizeof(key), "%.16s answered", request->header + 36);

	link(key, (size_t)size);
}

static void send_link(const void *key, size_t size)
{
	thrum_link_send(key, size);
}

static void receive_link(const void *key, size_t size)
{
	thrum_link_receive(key, size);
}

/* Asks the next station for the sake of a task, and waits for the answer. */
static bool ask(int next, thrum_task task, const struct message *why)
{
	struct message message = {.number = why->number}, answer;

	THRUM_RUN (task)
		thrum_traceparent_send(*why->header ? why->header : NULL, message.header);
	/* The stations that wait for an answer that never comes end one after the other. */
	if ((int)why->number == stuck)
		set_patience(next, 1);
	if (send(next, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message) ||
		!receive(next, &answer))
		return false;
	THRUM_RUN (task)
		link_answer(&message, receive_link);
	return true;
}

/* The last station's work needs a lock, which a task holds for ever from the request `stuck` on. */
static bool work(thrum_task task, thrum_task lock, int number)
{
	if (number == stuck) {
		thrum_task vacuum = thrum_task_create(THRUM_KIND_TASK, "vacuum");
		thrum_task disk = thrum_task_create(THRUM_KIND_PROMISE, "disk");

		thrum_task_should_resolve(vacuum);
		thrum_task_should_resolve(disk);
		THRUM_RUN (vacuum) {
			thrum_lock_acquired(lock);
			thrum_task_wait(vacuum, disk);
		}
		THRUM_RUN (task)
			thrum_task_wait(task, lock);
		return false;
	}
	THRUM_RUN (task) {
		thrum_lock_acquired(lock);
		usleep(number == slow ? 80000 : 1000);
		thrum_lock_released(lock);
	}
	return true;
}

static int serve(const char *name, int port)
{
	thrum_task lock = thrum_task_create(THRUM_KIND_LOCK, "table");
	int from = take(), next = port ? reach(port) : -1;
	struct message message;

	if (from < 0 || (port && next < 0))
		return 1;
	while (receive(from, &message)) {
		thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "%s %u", name,
			message.number);
		bool is_done;

		thrum_task_should_resolve(task);
		THRUM_RUN (task)
			thrum_traceparent_receive(message.header);
		is_done = port ? ask(next, task, &message) : work(task, lock, (int)message.number);
		if (!is_done)
			continue;
		THRUM_RUN (task)
			link_answer(&message, send_link);
		thrum_task_resolve(task);
		if (send(from, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
			break;
	}
	return 0;
}

static int request(const char *name, int port, unsigned count)
{
	int next = reach(port);

	for (unsigned i = 1; i <= count && next >= 0; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "%s %u", name, i);

		thrum_task_should_resolve(task);
		if (!ask(next, task, &(struct message){.number = i}))
			break;
		thrum_task_resolve(task);
	}
	return next < 0;
}

int main(int argc, char **argv)
{
	int port = argc > 2 ? atoi(argv[2]) : 0;

	slow = argc > 4 ? atoi(argv[4]) : 0;
	stuck = argc > 5 ? atoi(argv[5]) : 0;
	if (argc < 4 || thrum_start(NULL) != 0)
		return 1;
	return atoi(argv[3]) > 0 ? request(argv[1], port, (unsigned)atoi(argv[3]))
				 : serve(argv[1], port);
}
