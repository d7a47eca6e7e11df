/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: cache_store() takes the time to live of an answer as 16 bits. That of cdn.example is 131072 s, of which
 *     0 is left. So it is stale at once, and each page fetches it again.
 *   culprit: fetch cdn\.example|cache_store
 *   victim: page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Loads pages one after the other: each looks up some names, in a cache or at a name server. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define NAMES 3
#define PAGES 6

struct answer {
	unsigned name;
	uint32_t address, ttl;
};

struct entry {
	const char *name;
	uint32_t address;
	int64_t stale;    /* from this time on, in seconds */
	thrum_task fetch; /* while it is under way */
};

struct lookup {
	bool is_pending;
	thrum_task task;
};

static struct entry cache[NAMES] = {
	{.name = "www.example"},
	{.name = "cdn.example"},
	{.name = "img.example"},
};
static struct lookup lookups[NAMES]; /* of the page that is being loaded */
static thrum_task page;
static int pages, pending, server;
static unsigned hits, misses;
static uint32_t cdn_ttl;

static int64_t now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* ---- The cache ------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool cache_has(const struct entry *entry)
{
	return entry->address && now_s() < entry->stale;
}

static __attribute__((noinline)) void cache_store(struct entry *entry, const struct answer *answer)
{
	uint16_t ttl = (uint16_t)answer->ttl;

	entry->address = answer->address;
	entry->stale = now_s() + ttl;
}

/* ---- Fetches --------------------------------------------------------------------------------- */

static __attribute__((noinline)) void fetch(struct entry *entry)
{
	struct answer question = {.name = (unsigned)(entry - cache)};

	entry->fetch = thrum_task_createf(THRUM_KIND_REQUEST, "fetch %s", entry->name);
	if (write(server, &question, sizeof question) != sizeof question)
		abort();
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static void lookup_end(struct lookup *lookup)
{
	thrum_task_resolve(lookup->task);
	lookup->is_pending = false;
	pending--;
}

static void lookup_begin(int number)
{
	struct lookup *lookup = &lookups[number];

	lookup->task = thrum_task_createf(THRUM_KIND_TASK, "look up %s", cache[number].name);
	lookup->is_pending = true;
	pending++;
	if (cache_has(&cache[number])) {
		hits++;
		lookup_end(lookup);
		return;
	}
	misses++;
	THRUM_RUN (lookup->task) {
		fetch(&cache[number]);
		thrum_task_wait(lookup->task, cache[number].fetch);
	}
}

static __attribute__((noinline)) void page_begin(void)
{
	page = thrum_task_createf(THRUM_KIND_TASK, "page %d", ++pages);
	thrum_task_should_resolve(page);
	THRUM_RUN (page)
		for (int i = 0; i < NAMES; i++)
			lookup_begin(i);
}

static void page_end(void)
{
	thrum_task_resolve(page);
	printf("page %d\n", pages);
}

static __attribute__((noinline)) void on_answer(const struct answer *answer)
{
	struct entry *entry = &cache[answer->name];
	struct lookup *lookup = &lookups[answer->name];

	thrum_task_resolve(entry->fetch);
	cache_store(entry, answer);
	if (lookup->is_pending)
		THRUM_RUN (lookup->task) {
			thrum_task_read(lookup->task, entry->fetch);
			lookup_end(lookup);
		}
}

static void loop_run(void)
{
	struct answer answer;
	ssize_t size;

	page_begin();
	for (;;) {
		while (pending == 0) {
			page_end();
			if (pages == PAGES)
				return;
			page_begin();
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(server, &answer, sizeof answer);
		thrum_resume();
		if (size != sizeof answer)
			abort();
		on_answer(&answer);
	}
}

/* ---- The name server, which is far away ------------------------------------------------------ */

static void *run_name_server(void *data)
{
	struct answer answer;
	int client = *(int *)data;

	while (read(client, &answer, sizeof answer) == sizeof answer) {
		answer.address = 0x7f000001u + answer.name;
		answer.ttl = answer.name == 1 ? cdn_ttl : 3600;
		usleep(60000);
		if (write(client, &answer, sizeof answer) != sizeof answer)
			break;
	}
	return NULL;
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	pthread_t thread;
	int pair[2];

	cdn_ttl = broken ? 131072 : 43200;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
		pthread_create(&thread, NULL, run_name_server, &pair[1]) || thrum_start(NULL))
		return 2;
	server = pair[0];
	loop_run();
	printf("%u hits, %u misses\n", hits, misses);
	close(server);
	pthread_join(thread, NULL);
	return 0;
}
