/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: serve_clients parks a connection with an event mask of 0 and ignores the hang-up that epoll reports all the
 *     same. So epoll_wait returns at once for ever, and the retries, which only run when epoll_wait times out, never come.
 *   culprit: cupsd|serve_clients
 *   victim: \bmain\b|tablet|wait_printed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small print server: a loop for its clients, and a queue of one job for a printer that has to warm up. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 20

enum job_state {
	JOB_NONE,
	JOB_QUEUED,
	JOB_PRINTED
};

struct connection {
	int fd;
	bool is_parked;
};

static bool closes_on_hangup;
static atomic_bool is_printer_warm;
static atomic_bool is_quitting;

static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_changed = PTHREAD_COND_INITIALIZER;
static enum job_state job;
static unsigned attempts;

static void set_job(enum job_state state)
{
	pthread_mutex_lock(&job_lock);
	job = state;
	pthread_cond_broadcast(&job_changed);
	pthread_mutex_unlock(&job_lock);
}

/* Tries the queued job again. Called when the clients are quiet. */
static void retry_job(void)
{
	bool is_queued;

	pthread_mutex_lock(&job_lock);
	is_queued = job == JOB_QUEUED;
	pthread_mutex_unlock(&job_lock);
	if (!is_queued)
		return;
	attempts++;
	if (atomic_load(&is_printer_warm))
		set_job(JOB_PRINTED);
}

static void close_connection(int epoll, struct connection *connection)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	close(connection->fd);
	connection->fd = -1;
}

/* Reads a request. While its document is in the queue, nothing more is read from the client. */
static void read_request(int epoll, struct connection *connection)
{
	struct epoll_event event = {.events = 0, .data.ptr = connection};
	char request[64];
	ssize_t size = read(connection->fd, request, sizeof(request));

	if (size <= 0) {
		close_connection(epoll, connection);
		return;
	}
	set_job(JOB_QUEUED);
	connection->is_parked = true;
	epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
	if (write(connection->fd, "accepted", 8) != 8)
		perror("cupsd: write");
}

static void *serve_clients(void *data)
{
	struct connection *connection = data;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int count;

	pthread_setname_np(pthread_self(), "cupsd");
	epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event);
	while (!atomic_load(&is_quitting)) {
		count = epoll_wait(epoll, &event, 1, TICK_MS);
		if (count == 0) {
			retry_job();
			continue;
		}
		if (count < 0)
			continue;
		connection = event.data.ptr;
		if (connection->is_parked) {
			if (closes_on_hangup && (event.events & (EPOLLHUP | EPOLLERR)))
				close_connection(epoll, connection);
			continue;
		}
		read_request(epoll, connection);
	}
	close(epoll);
	return NULL;
}

/* A client that hands in a document and goes away. */
static void *print_from_tablet(void *data)
{
	int fd = *(int *)data;
	char answer[16];

	pthread_setname_np(pthread_self(), "tablet");
	if (write(fd, "POST /printers/laser", 20) != 20 || read(fd, answer, sizeof(answer)) <= 0)
		perror("tablet");
	close(fd);
	return NULL;
}

static void wait_printed(void)
{
	pthread_mutex_lock(&job_lock);
	while (job != JOB_PRINTED)
		pthread_cond_wait(&job_changed, &job_lock);
	pthread_mutex_unlock(&job_lock);
}

int main(int argc, char **argv)
{
	struct connection connection = {.is_parked = false};
	pthread_t server, tablet;
	int ends[2];

	closes_on_hangup = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	connection.fd = ends[0];
	pthread_create(&server, NULL, serve_clients, &connection);
	pthread_create(&tablet, NULL, print_from_tablet, &ends[1]);
	pthread_join(tablet, NULL);
	atomic_store(&is_printer_warm, true);
	wait_printed();
	printf("printed after %u attempts\n", attempts);
	atomic_store(&is_quitting, true);
	pthread_join(server, NULL);
	return 0;
}
