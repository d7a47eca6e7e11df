/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: handle_results() clears the flag `notified` after it has worked through the results that it took.
 *     Workers that post a result meanwhile see the flag set and do not write to the wake-up pipe, and nobody
 *     looks at the list again, so the loop sleeps in poll() while results lie there.
 *   culprit: handle_results|post_result|notified
 *   victim: run_stub|receive_answers|stub
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A resolver: one thread polls the stubs' sockets and signs answers, workers look the names up. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#define STUBS 3
#define WORKERS 3
#define QUERIES 16

struct query {
	int fd;
	uint32_t number, address, signature;
	struct query *next;
};

static struct list {
	struct query *first, **last;
} lookups, results;
static pthread_mutex_t lookups_lock = PTHREAD_MUTEX_INITIALIZER,
		       results_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lookups_ready = PTHREAD_COND_INITIALIZER;
static bool stopping, notified, fixed;
static int wakeup[2], answered, wakeups;

static void append(struct list *list, struct query *query)
{
	query->next = NULL;
	*list->last = query;
	list->last = &query->next;
}

static struct query *take_first(struct list *list)
{
	struct query *query = list->first;
	if (query)
		list->first = query->next;
	if (!list->first)
		list->last = &list->first;
	return query;
}

/* The workers. */
static void post_result(struct query *query)
{
	pthread_mutex_lock(&results_lock);
	append(&results, query);
	bool must_wake = !notified;
	notified = true;
	pthread_mutex_unlock(&results_lock);
	if (must_wake && write(wakeup[1], "w", 1) != 1)
		abort();
}

static void *look_up(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&lookups_lock);
		while (!lookups.first && !stopping)
			pthread_cond_wait(&lookups_ready, &lookups_lock);
		struct query *query = take_first(&lookups);
		pthread_mutex_unlock(&lookups_lock);
		if (!query)
			return argument;
		usleep(100);
		query->address = 0xc0000200u + query->number % 200;
		post_result(query);
	}
}

/* The loop. */
static void sign_answer(struct query *query)
{
	uint32_t hash = 2166136261u;
	for (uint32_t i = 0; i < 2000000; i++)
		hash = (hash ^ (query->address + i)) * 16777619u;
	query->signature = hash;
}

static void answer(struct query *query)
{
	uint32_t message[] = {query->number, query->address, query->signature};
	if (write(query->fd, message, sizeof message) != (ssize_t)sizeof message)
		abort();
	free(query);
	answered++;
}

static void handle_results(void)
{
	char bytes[16];
	if (read(wakeup[0], bytes, sizeof bytes) < 1)
		abort();
	wakeups++;
	pthread_mutex_lock(&results_lock);
	struct list taken = {results.first, NULL};
	results = (struct list){NULL, &results.first};
	if (fixed)
		notified = false;
	pthread_mutex_unlock(&results_lock);
	while (taken.first) {
		struct query *query = take_first(&taken);
		sign_answer(query);
		answer(query);
	}
	if (fixed)
		return;
	pthread_mutex_lock(&results_lock);
	notified = false;
	pthread_mutex_unlock(&results_lock);
}

static bool read_queries(int fd)
{
	uint32_t numbers[QUERIES];
	ssize_t length = read(fd, numbers, sizeof numbers);
	if (length <= 0)
		return false;
	pthread_mutex_lock(&lookups_lock);
	for (size_t i = 0; i < (size_t)length / sizeof *numbers; i++) {
		struct query *query = calloc(1, sizeof *query);
		query->fd = fd;
		query->number = numbers[i];
		append(&lookups, query);
	}
	pthread_cond_broadcast(&lookups_ready);
	pthread_mutex_unlock(&lookups_lock);
	return true;
}

static void run_loop(const int *sockets)
{
	struct pollfd fds[STUBS + 1] = {{.fd = wakeup[0], .events = POLLIN}};
	for (int i = 0; i < STUBS; i++)
		fds[i + 1] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
	for (int open = STUBS; open;) {
		if (poll(fds, STUBS + 1, -1) < 0)
			abort();
		for (int i = 1; i <= STUBS; i++) {
			if (!fds[i].revents || read_queries(fds[i].fd))
				continue;
			close(fds[i].fd);
			fds[i].fd = -1;
			open--;
		}
		if (fds[0].revents)
			handle_results();
	}
}

/* A stub asks for all names of a page at once, as browsers do. */
static void receive_answers(int fd)
{
	for (int i = 0; i < QUERIES; i++) {
		uint32_t message[3];
		if (recv(fd, message, sizeof message, MSG_WAITALL) != (ssize_t)sizeof message)
			exit(1);
	}
}

static void *run_stub(void *argument)
{
	int fd = *(int *)argument;
	uint32_t numbers[QUERIES];
	for (uint32_t page = 0; page < 2; page++) {
		for (uint32_t i = 0; i < QUERIES; i++)
			numbers[i] = page * 1000 + i * 7;
		if (write(fd, numbers, sizeof numbers) != (ssize_t)sizeof numbers)
			exit(1);
		receive_answers(fd);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	lookups.last = &lookups.first;
	results.last = &results.first;
	int near[STUBS], pairs[STUBS][2];
	pthread_t stubs[STUBS], workers[WORKERS];
	if (pipe(wakeup))
		return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, look_up, NULL);
	for (int i = 0; i < STUBS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			return 1;
		near[i] = pairs[i][0];
		pthread_create(&stubs[i], NULL, run_stub, &pairs[i][1]);
	}
	run_loop(near);
	for (int i = 0; i < STUBS; i++)
		pthread_join(stubs[i], NULL);
	pthread_mutex_lock(&lookups_lock);
	stopping = true;
	pthread_cond_broadcast(&lookups_ready);
	pthread_mutex_unlock(&lookups_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d queries answered, %d wake-ups\n", answered, wakeups);
	return 0;
}
