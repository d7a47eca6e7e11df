/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_results takes the list of results first and resets wake_pending only after it has dealt with them. A result that is posted
 *     in between finds wake_pending set, so post_result doesn't write to the eventfd, and the loop never looks at it.
 *   culprit: post_result|on_results|wake_pending
 *   victim: importer|monitor|read_answers|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server that finds the coordinates of addresses: an epoll loop, and threads that search. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	SEARCHERS = 3,
	CLIENTS = 2,
	SINGLES = 5,
	BATCHES = 3,
	BATCH = 6
};

struct search {
	int client; /* the socket to answer to */
	char address[32];
	double latitude;
	struct search *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_search = PTHREAD_COND_INITIALIZER;
static struct search *searches;
static struct search *results;
static bool wake_pending;
static bool resets_early;
static int wake_up;
static int sockets[CLIENTS][2];
static int open_clients = CLIENTS;
static unsigned long answers;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* ---- The threads that search ---- */

static void post_result(struct search *search)
{
	uint64_t one = 1;

	pthread_mutex_lock(&mutex);
	search->next = results;
	results = search;
	if (!wake_pending) {
		wake_pending = true;
		if (write(wake_up, &one, sizeof(one)) != sizeof(one))
			abort();
	}
	pthread_mutex_unlock(&mutex);
}

static void *search_addresses(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "searcher");
	for (;;) {
		struct search *search;

		pthread_mutex_lock(&mutex);
		while (!searches)
			pthread_cond_wait(&has_search, &mutex);
		search = searches;
		searches = search->next;
		pthread_mutex_unlock(&mutex);
		pause_ms(6);
		search->latitude = 40 + search->address[0] % 20;
		post_result(search);
	}
	return NULL;
}

/* ---- The loop ---- */

/* Appends to the journal that the invoices are made from. */
static void journal_append(const struct search *search)
{
	(void)search;
	pause_ms(40);
}

static void send_answer(struct search *search)
{
	char answer[32] = "";

	snprintf(answer, sizeof(answer), "%.3f", search->latitude);
	journal_append(search);
	answers++;
	if (send(search->client, answer, sizeof(answer), MSG_NOSIGNAL) < 0)
		perror("send");
	free(search);
}

static void on_results(void)
{
	struct search *list;
	uint64_t number;

	if (read(wake_up, &number, sizeof(number)) != sizeof(number))
		return;
	pthread_mutex_lock(&mutex);
	list = results;
	results = NULL;
	if (resets_early)
		wake_pending = false;
	pthread_mutex_unlock(&mutex);
	while (list) {
		struct search *search = list;

		list = search->next;
		send_answer(search);
	}
	if (!resets_early) {
		pthread_mutex_lock(&mutex);
		wake_pending = false;
		pthread_mutex_unlock(&mutex);
	}
}

static void on_question(int epoll, int client)
{
	struct search *search = calloc(1, sizeof(*search));
	char answer[32] = "";

	if (!search)
		abort();
	if (recv(client, search->address, sizeof(search->address), 0) <= 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, client, NULL);
		open_clients--;
		free(search);
		return;
	}
	search->client = client;
	if (!strcmp(search->address, "stats")) {
		snprintf(answer, sizeof(answer), "%d clients, %lu answers", open_clients, answers);
		send(client, answer, sizeof(answer), MSG_NOSIGNAL);
		free(search);
		return;
	}
	pthread_mutex_lock(&mutex);
	search->next = searches;
	searches = search;
	pthread_cond_signal(&has_search);
	pthread_mutex_unlock(&mutex);
}

static void watch(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void serve(int epoll)
{
	while (open_clients > 1) {
		struct epoll_event event;

		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == wake_up)
			on_results();
		else
			on_question(epoll, event.data.fd);
	}
}

/* ---- The clients ---- */

static void send_question(int server, const char *question)
{
	char message[32] = "";

	snprintf(message, sizeof(message), "%s", question);
	if (send(server, message, sizeof(message), 0) < 0)
		exit(1);
}

static void read_answers(int server, int count)
{
	char message[32];

	for (int i = 0; i < count; i++) {
		if (recv(server, message, sizeof(message), MSG_WAITALL) <= 0)
			exit(1);
		puts(message);
	}
	fflush(stdout);
}

static void *import(void *data)
{
	int server = *(int *)data;
	char address[32];

	pthread_setname_np(pthread_self(), "importer");
	for (int i = 0; i < SINGLES + BATCHES; i++) {
		int size = i < SINGLES ? 1 : BATCH;

		for (int j = 0; j < size; j++) {
			snprintf(address, sizeof(address), "%c%d Mill Lane", 'A' + j, i);
			send_question(server, address);
		}
		read_answers(server, size);
	}
	close(server);
	return NULL;
}

static void *monitor(void *data)
{
	int server = *(int *)data;

	pthread_setname_np(pthread_self(), "monitor");
	for (;;) {
		send_question(server, "stats");
		read_answers(server, 1);
		pause_ms(100);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	int epoll;

	if (count < 2)
		return 2;
	resets_early = !strcmp(arguments[1], "healthy");
	epoll = epoll_create1(0);
	wake_up = eventfd(0, EFD_NONBLOCK);
	watch(epoll, wake_up);
	for (int i = 0; i < SEARCHERS; i++)
		pthread_create(&thread, NULL, search_addresses, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]))
			return 1;
		watch(epoll, sockets[i][1]);
	}
	pthread_create(&thread, NULL, import, &sockets[0][0]);
	pthread_create(&thread, NULL, monitor, &sockets[1][0]);
	serve(epoll);
	puts("import complete");
	return 0;
}
