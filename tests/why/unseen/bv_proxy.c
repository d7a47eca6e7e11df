/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: When the origin answers with an error, fetch_entry returns without setting the entry's state back and
 *     without waking those that wait for it. The entry stays FETCHING, and "phone" and "desktop" wait for ever.
 *   culprit: fetch_entry|crawler|entry->filled|serve_crawler
 *   victim: phone|desktop|\bmain\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */

/* A caching proxy: a page that several clients want at a time is fetched once from the origin. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum state {
	EMPTY,
	FETCHING,
	FRESH
};

struct entry {
	const char *url;
	enum state state;
	unsigned origin_ms;
	unsigned errors_left; /* of the origin */
	char body[64];
	pthread_cond_t filled;
};

static struct entry entries[] = {
	{"/index.html", EMPTY, 5, 0, "", PTHREAD_COND_INITIALIZER},
	{"/style.css", EMPTY, 5, 0, "", PTHREAD_COND_INITIALIZER},
	{"/feed.xml", EMPTY, 120, 1, "", PTHREAD_COND_INITIALIZER},
};
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static bool broken;
static atomic_uint served, failed;

static struct entry *find_entry(const char *url)
{
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!strcmp(entries[i].url, url))
			return &entries[i];
	return NULL;
}

/* Asks the origin, without the lock. */
static int ask_origin(struct entry *entry, char *body, size_t size)
{
	usleep(entry->origin_ms * 1000);
	if (entry->errors_left > 0) {
		entry->errors_left--;
		return 504;
	}
	snprintf(body, size, "contents of %s", entry->url);
	return 200;
}

/* The caller holds cache_lock. */
static int fetch_entry(struct entry *entry)
{
	char body[64];
	int status;

	entry->state = FETCHING;
	pthread_mutex_unlock(&cache_lock);
	status = ask_origin(entry, body, sizeof body);
	pthread_mutex_lock(&cache_lock);
	if (status != 200) {
		atomic_fetch_add(&failed, 1);
		if (broken)
			return 502;
		entry->state = EMPTY;
		pthread_cond_broadcast(&entry->filled);
		return 502;
	}
	strcpy(entry->body, body);
	entry->state = FRESH;
	pthread_cond_broadcast(&entry->filled);
	return 200;
}

static int get(const char *url)
{
	struct entry *entry = find_entry(url);
	int status = 200;

	pthread_mutex_lock(&cache_lock);
	while (entry->state == FETCHING)
		pthread_cond_wait(&entry->filled, &cache_lock);
	if (entry->state == EMPTY)
		status = fetch_entry(entry);
	pthread_mutex_unlock(&cache_lock);
	atomic_fetch_add(&served, 1);
	return status;
}

static void *serve_crawler(void *data)
{
	(void)data;
	printf("crawler: /feed.xml %d\n", get("/feed.xml"));
	for (;;) {
		get("/style.css");
		usleep(30000);
	}
	return NULL;
}

static void *serve_reader(void *data)
{
	const char *name = data;

	for (unsigned i = 0;; i++) {
		usleep(40000);
		get("/index.html");
		if (i % 10 == 0)
			printf("%s: /feed.xml %d\n", name, get("/feed.xml"));
	}
	return NULL;
}

static void *serve_kiosk(void *data)
{
	(void)data;
	for (;;) {
		get("/index.html");
		usleep(20000);
	}
	return NULL;
}

static void start(const char *name, void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, (void *)name);
	pthread_setname_np(thread, name);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	start("crawler", serve_crawler);
	start("phone", serve_reader);
	start("desktop", serve_reader);
	start("kiosk", serve_kiosk);
	for (;;) {
		sleep(1);
		printf("served %u, failed %u\n", served, failed);
	}
}
