/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: "resolve img.example.org" takes 250 ms instead of 10 (the first name server doesn't answer); all fetches from img.example.org wait for it.
 *   culprit: resolve img\.example\.org
 *   victim: fetch img\.example\.org|crawl
 * case: other
 *   args: other
 *   ask: diff good
 *   culprit: nothing
 */
/* crawl: three threads fetch pages; each host's name is resolved once */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define PAGES 12

struct host {
	const char *name;
	int ms, state; /* 0: unknown, 1: asked, 2: known */
	thrum_task resolve;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t known = PTHREAD_COND_INITIALIZER;
static struct host hosts[] = {
	{"www.example.org", 10},
	{"img.example.org", 10},
	{"api.example.org", 12},
};
static int next_page, jitter;
static thrum_task crawl, fetches[PAGES];

static void host_know(struct host *host)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	if (host->state == 0) {
		host->state = 1;
		host->resolve = thrum_task_createf(THRUM_KIND_REQUEST, "resolve %s", host->name);
		thrum_task_should_resolve(host->resolve);
		pthread_mutex_unlock(&mutex);
		thrum_task_wait(self, host->resolve);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(host->ms * 1000);
		thrum_resume();
		pthread_mutex_lock(&mutex);
		host->state = 2;
		thrum_task_resolve(host->resolve);
		thrum_task_read(self, host->resolve);
		pthread_cond_broadcast(&known);
	} else if (host->state == 1) {
		thrum_task_wait(self, host->resolve);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (host->state == 1)
			pthread_cond_wait(&known, &mutex);
		thrum_resume();
		thrum_task_read(self, host->resolve);
	}
	pthread_mutex_unlock(&mutex);
}

static void *fetcher(void *data)
{
	int page;

	thrum_lane_name("fetcher");
	for (;;) {
		pthread_mutex_lock(&mutex);
		page = next_page < PAGES ? next_page++ : -1;
		pthread_mutex_unlock(&mutex);
		if (page < 0)
			return NULL;
		THRUM_RUN (fetches[page]) {
			host_know(&hosts[page % 3]);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(15000 + (page * 7 + jitter) % 5 * 1000);
			thrum_resume();
			thrum_task_resolve(fetches[page]);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc > 1 && !strcmp(argv[1], "bad"))
		hosts[1].ms = 250;
	if (argc > 1 && !strcmp(argv[1], "other"))
		jitter = 3;
	crawl = thrum_task_create(THRUM_KIND_JOIN, "crawl");
	thrum_task_should_resolve(crawl);
	for (int i = 0; i < PAGES; i++) {
		fetches[i] = thrum_task_createf(THRUM_KIND_TASK, "fetch %s/%d", hosts[i % 3].name,
			i / 3);
		thrum_task_should_resolve(fetches[i]);
		thrum_task_wait(crawl, fetches[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, fetcher, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	thrum_task_resolve(crawl);
	printf("crawl: %d pages\n", PAGES);
	return 0;
}
