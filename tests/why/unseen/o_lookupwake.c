/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The resolver wakes the loop only when the list of results was empty, and puts the A and the AAAA result into it at once; on_results in the thread net-loop takes one result for each wake-up and leaves the other one in the list. So no wake-up comes any more and net-loop sleeps in epoll_wait beside a full list.
 *   culprit: net-loop|run_loop|on_results
 *   victim: \bmain\b|wait_for_pages
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A page loader: the loop asks a resolver thread for the addresses of each host, of both families. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	HOSTS = 8
};

struct lookup {
	struct lookup *next;
	int host, family;
	unsigned address;
};

struct list {
	struct lookup *first, **end;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t asked;
	struct list questions, results;
	bool closed;
	int wake;
} resolver = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.questions.end = &resolver.questions.first,
	.results.end = &resolver.results.first};

static sem_t pages_loaded;
static int answers[HOSTS], hosts_done;
static bool broken;

static void append(struct list *list, struct lookup *lookup)
{
	lookup->next = NULL;
	*list->end = lookup;
	list->end = &lookup->next;
}

static struct lookup *take(struct list *list)
{
	struct lookup *lookup = list->first;

	if (lookup) {
		list->first = lookup->next;
		if (!list->first)
			list->end = &list->first;
	}
	return lookup;
}

/* Asks the name server. One packet carries the questions of both families. */
static void ask_server(struct lookup *a, struct lookup *aaaa)
{
	usleep(3000);
	a->address = 0x0a000001u + (unsigned)a->host;
	aaaa->address = 0xfd000001u + (unsigned)aaaa->host;
}

static void *resolve(void *unused)
{
	struct lookup *a, *aaaa;
	uint64_t one = 1;

	(void)unused;
	pthread_setname_np(pthread_self(), "resolver");
	pthread_mutex_lock(&resolver.mutex);
	for (;;) {
		while (!resolver.questions.first && !resolver.closed)
			pthread_cond_wait(&resolver.asked, &resolver.mutex);
		a = take(&resolver.questions);
		aaaa = take(&resolver.questions);
		if (!a || !aaaa)
			break;
		pthread_mutex_unlock(&resolver.mutex);
		ask_server(a, aaaa);
		pthread_mutex_lock(&resolver.mutex);
		if (!resolver.results.first && write(resolver.wake, &one, sizeof one) < 0)
			perror("wake");
		append(&resolver.results, a);
		append(&resolver.results, aaaa);
	}
	pthread_mutex_unlock(&resolver.mutex);
	return NULL;
}

static void look_up(int host)
{
	pthread_mutex_lock(&resolver.mutex);
	for (int family = 0; family < 2; family++) {
		struct lookup *lookup = calloc(1, sizeof *lookup);

		if (!lookup)
			exit(1);
		lookup->host = host;
		lookup->family = family;
		append(&resolver.questions, lookup);
	}
	pthread_cond_signal(&resolver.asked);
	pthread_mutex_unlock(&resolver.mutex);
}

static void on_result(struct lookup *lookup)
{
	int host = lookup->host;

	free(lookup);
	if (++answers[host] < 2)
		return;
	hosts_done++;
	sem_post(&pages_loaded);
	if (host + 1 < HOSTS)
		look_up(host + 1); /* a page links to the next host */
}

static void on_results(void)
{
	struct lookup *lookup;

	do {
		pthread_mutex_lock(&resolver.mutex);
		lookup = take(&resolver.results);
		pthread_mutex_unlock(&resolver.mutex);
		if (lookup)
			on_result(lookup);
	} while (lookup && !broken);
}

static void *run_loop(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t count;

	(void)unused;
	pthread_setname_np(pthread_self(), "net-loop");
	epoll_ctl(epoll, EPOLL_CTL_ADD, resolver.wake, &event);
	look_up(0);
	while (hosts_done < HOSTS) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (read(resolver.wake, &count, sizeof count) == sizeof count)
			on_results();
	}
	close(epoll);
	return NULL;
}

static void wait_for_pages(void)
{
	for (int i = 0; i < HOSTS; i++)
		while (sem_wait(&pages_loaded))
			continue;
}

int main(int argc, char **argv)
{
	pthread_t loop, names;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&pages_loaded, 0, 0);
	resolver.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_create(&names, NULL, resolve, NULL);
	pthread_create(&loop, NULL, run_loop, NULL);
	wait_for_pages();
	pthread_join(loop, NULL);
	pthread_mutex_lock(&resolver.mutex);
	resolver.closed = true;
	pthread_cond_signal(&resolver.asked);
	pthread_mutex_unlock(&resolver.mutex);
	pthread_join(names, NULL);
	printf("%d pages\n", HOSTS);
	return 0;
}
