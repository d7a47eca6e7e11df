/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the thread batcher writes a large batch to the backend in send_batch while it holds session_lock. The backend
 *     answers meanwhile until its socket is full; the thread reply-router, which should read the answers, waits for
 *     session_lock in route_reply. So the lock waits for the socket, the socket for the backend, and the backend for
 *     the reader, which waits for the lock.
 *   culprit: send_batch|batcher
 *   victim: reply-router|route_reply|backend|serve_statements
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* dbproxy: sends statements in batches to a database (a process), and hands its answers to the clients that asked. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_STATEMENTS 400
#define BUFFER 8192

struct statement {
	unsigned id;
	char text[508];
};

struct reply {
	unsigned id;
	char rows[1020];
};

struct pending {
	bool asked, answered;
	unsigned batch;
};

struct batch_plan {
	unsigned statements;
	long pause;
};

static const struct batch_plan broken_plan[] = {{1, 30}, {2, 30}, {1, 30}, {360, 30}, {1, 30},
	{0, 0}};
static const struct batch_plan healthy_plan[] = {{1, 30}, {2, 30}, {1, 30}, {2, 30}, {1, 30},
	{0, 0}};

pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t session_cond = PTHREAD_COND_INITIALIZER;

static struct pending pending[MAX_STATEMENTS];
static unsigned asked, answered;
static int backend_fd;
static const struct batch_plan *plan;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static bool write_all(int fd, const void *data, size_t length)
{
	const char *bytes = data;

	while (length) {
		ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t length)
{
	char *bytes = data;

	while (length) {
		ssize_t got = read(fd, bytes, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		bytes += got;
		length -= (size_t)got;
	}
	return true;
}

/* The backend's process: answers one statement after another. */
__attribute__((noinline)) int serve_statements(int fd)
{
	struct statement statement;
	struct reply reply;

	memset(&reply, 'r', sizeof reply);
	while (read_all(fd, &statement, sizeof statement)) {
		reply.id = statement.id;
		snprintf(reply.rows, sizeof reply.rows, "1 row of “%.40s”", statement.text);
		if (!write_all(fd, &reply, sizeof reply))
			return 1;
	}
	return 0;
}

static pid_t start_backend(void)
{
	int ends[2], size = BUFFER;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		perror("dbproxy: socketpair");
		exit(1);
	}
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	pid = fork();
	if (pid < 0) {
		perror("dbproxy: fork");
		exit(1);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "backend");
		close(ends[0]);
		_exit(serve_statements(ends[1]));
	}
	close(ends[1]);
	backend_fd = ends[0];
	return pid;
}

/* The proxy */

__attribute__((noinline)) unsigned send_batch(unsigned number, unsigned statements)
{
	unsigned sent = 0;

	pthread_mutex_lock(&session_lock);
	for (; sent < statements && asked < MAX_STATEMENTS; sent++) {
		struct statement statement = {.id = asked};

		snprintf(statement.text, sizeof statement.text,
			"select * from item where batch = %u and item = %u", number, sent);
		pending[asked].asked = true;
		pending[asked].batch = number;
		asked++;
		if (!write_all(backend_fd, &statement, sizeof statement))
			break;
	}
	pthread_mutex_unlock(&session_lock);
	return sent;
}

static void *send_batches(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "batcher");
	for (unsigned number = 0; plan[number].statements; number++) {
		pause_ms(plan[number].pause);
		send_batch(number, plan[number].statements);
	}
	return NULL;
}

__attribute__((noinline)) bool route_reply(const struct reply *reply)
{
	bool known = false;

	pthread_mutex_lock(&session_lock);
	if (reply->id < MAX_STATEMENTS && pending[reply->id].asked &&
		!pending[reply->id].answered) {
		pending[reply->id].answered = true;
		answered++;
		known = true;
		pthread_cond_broadcast(&session_cond);
	}
	pthread_mutex_unlock(&session_lock);
	return known;
}

static void *route_replies(void *data)
{
	struct reply reply;

	(void)data;
	pthread_setname_np(pthread_self(), "reply-router");
	while (read_all(backend_fd, &reply, sizeof reply))
		if (!route_reply(&reply))
			fprintf(stderr, "dbproxy: unknown reply %u\n", reply.id);
	return NULL;
}

__attribute__((noinline)) void await_replies(unsigned expected)
{
	pthread_mutex_lock(&session_lock);
	while (answered < expected)
		pthread_cond_wait(&session_cond, &session_lock);
	pthread_mutex_unlock(&session_lock);
}

int main(int argc, char **argv)
{
	pthread_t batcher, router;
	unsigned expected = 0;
	pid_t backend;
	int status;

	plan = argc > 1 && !strcmp(argv[1], "broken") ? broken_plan : healthy_plan;
	for (unsigned i = 0; plan[i].statements; i++)
		expected += plan[i].statements;
	backend = start_backend();
	pthread_create(&router, NULL, route_replies, NULL);
	pthread_create(&batcher, NULL, send_batches, NULL);

	await_replies(expected);
	pthread_join(batcher, NULL);
	shutdown(backend_fd, SHUT_WR);
	pthread_join(router, NULL);
	close(backend_fd);
	waitpid(backend, &status, 0);
	printf("%u statements answered\n", answered);
	return status != 0;
}
