/* SPDX-License-Identifier: ISC */
/*
 * A server that takes the questions of two threads in one turn, and answers each. The first argument tells
 * how it waits: "udp", in recvfrom(); "poll" or "epoll", for connections of TCP. The second one: "hang", it
 * leaves out an answer to the second thread, the one that asks first; "apart", so, and the first thread goes
 * on; "worker", another thread gives all answers to the second one, and rests at the last; "third", the
 * second thread needs an answer to every third message only, and then waits for what nobody asked for;
 * "passed", the server passes the question on to another program; "fine", all is answered. It knows nothing
 * of thrum. The test kills it where it hangs.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ASKERS = 2,
	QUESTIONS = 6
};

struct message {
	int asker, number;
};

static const char *kind, *how;
static struct sockaddr_in address, other;
static struct sockaddr_in from[ASKERS]; /* where the threads are */
static int server, outside, passing, set, sockets[ASKERS],
	clients[ASKERS]; /* clients: the other ends */
static atomic_int asked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed = PTHREAD_COND_INITIALIZER;
static int jobs, done;

static bool is(const char *text, const char *name)
{
	return strcmp(text, name) == 0;
}

/* The test waits for that. */
static void tell_hang(void)
{
	puts("hangs");
	fflush(stdout);
}

static void answer(const struct message *question)
{
	int asker = question->asker;

	if (is(kind, "udp"))
		sendto(server, question, sizeof *question, 0, (struct sockaddr *)&from[asker],
			sizeof from[asker]);
	else
		send(clients[asker], question, sizeof *question, 0);
}

/* The last question never gets here. */
static void *work(void *unused)
{
	for (struct message message = {1, 0}; message.number < QUESTIONS; message.number++) {
		pthread_mutex_lock(&lock);
		while (jobs == done)
			pthread_cond_wait(&handed, &lock);
		done++;
		pthread_mutex_unlock(&lock);
		if (message.number == QUESTIONS - 1) {
			tell_hang();
			recv(outside, &message, sizeof message, 0);
		}
		answer(&message);
	}
	return unused;
}

static void hand_over(void)
{
	pthread_mutex_lock(&lock);
	jobs++;
	pthread_cond_signal(&handed);
	pthread_mutex_unlock(&lock);
}

static void serve_one(const struct message *question)
{
	bool is_last = question->asker == 1 && question->number == QUESTIONS - 1;

	if (is(how, "worker") && question->asker == 1) {
		hand_over();
	} else if (is(how, "third") && question->asker == 1) {
		if (question->number % 3 == 1)
			answer(question);
	} else if (is_last && is(how, "passed")) {
		sendto(is(kind, "udp") ? server : passing, question, sizeof *question, 0,
			(struct sockaddr *)&other, sizeof other);
		tell_hang();
	} else if (is_last && (is(how, "hang") || is(how, "apart"))) {
		tell_hang();
	} else {
		answer(question);
	}
}

static void take(int asker)
{
	socklen_t size = sizeof address;
	struct sockaddr_in peer = address;
	struct message question;

	if (is(kind, "udp"))
		recvfrom(server, &question, sizeof question, 0, (struct sockaddr *)&peer, &size);
	else
		recv(clients[asker], &question, sizeof question, 0);
	from[question.asker] = peer;
	serve_one(&question);
}

static void wait_for_clients(void)
{
	struct pollfd fds[ASKERS] = {{clients[0], POLLIN, 0}, {clients[1], POLLIN, 0}};
	struct epoll_event events[ASKERS];

	if (is(kind, "poll"))
		poll(fds, ASKERS, -1);
	if (is(kind, "epoll"))
		epoll_wait(set, events, ASKERS, -1);
}

static void spin_until(int count)
{
	while (atomic_load(&asked) < count)
		sched_yield();
}

/* It takes both questions of a round once both are there. */
static void *serve(void *unused)
{
	for (int i = 0; i < QUESTIONS; i++) {
		wait_for_clients();
		if (is(kind, "udp"))
			take(0);
		spin_until(ASKERS * (i + 1));
		take(1);
		if (!is(kind, "udp"))
			take(0);
	}
	for (;;) {
		wait_for_clients();
		take(0);
	}
	return unused;
}

static void *ask(void *number)
{
	int asker = *(int *)number, fd = sockets[asker];
	bool is_third = asker == 1 && is(how, "third");
	struct message message;

	for (int i = 0; i < QUESTIONS; i++) {
		spin_until(ASKERS * i + (asker == 0));
		send(fd, &(struct message){asker, i}, sizeof message, 0);
		atomic_fetch_add(&asked, 1);
		if ((!is_third || i % 3 == 1) && recv(fd, &message, sizeof message, 0) <= 0)
			_exit(1);
	}
	if (is_third)
		tell_hang();
	if (is_third || (asker == 0 && is(how, "apart"))) {
		if (!is_third)
			send(fd, &(struct message){asker, QUESTIONS}, sizeof message, 0);
		recv(fd, &message, sizeof message, 0);
	}
	return NULL;
}

static int bind_socket(int type, struct sockaddr_in *at)
{
	int fd = socket(AF_INET, type, 0);
	socklen_t size = sizeof *at;

	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)at, sizeof *at) != 0 ||
		getsockname(fd, (struct sockaddr *)at, &size) != 0)
		_exit(1);
	return fd;
}

static void connect_all(void)
{
	int type = is(kind, "udp") ? SOCK_DGRAM : SOCK_STREAM;

	server = bind_socket(type, &address);
	passing = bind_socket(SOCK_DGRAM, &(struct sockaddr_in){.sin_port = 0});
	outside = bind_socket(SOCK_DGRAM, &other);
	set = epoll_create1(0);
	if (type == SOCK_STREAM)
		listen(server, ASKERS);
	for (int i = 0; i < ASKERS; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		sockets[i] = socket(AF_INET, type, 0);
		if (connect(sockets[i], (struct sockaddr *)&address, sizeof address) != 0)
			_exit(1);
		if (type == SOCK_DGRAM)
			continue;
		clients[i] = accept(server, NULL, NULL);
		epoll_ctl(set, EPOLL_CTL_ADD, clients[i], &event);
	}
}

int main(int count, char **arguments)
{
	int numbers[ASKERS] = {0, 1};
	pthread_t threads[ASKERS], others[2];

	kind = count > 2 ? arguments[1] : "udp";
	how = count > 2 ? arguments[2] : "fine";
	connect_all();
	pthread_create(&others[0], NULL, serve, NULL);
	if (is(how, "worker"))
		pthread_create(&others[1], NULL, work, NULL);
	for (int i = 0; i < ASKERS; i++)
		pthread_create(&threads[i], NULL, ask, &numbers[i]);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
