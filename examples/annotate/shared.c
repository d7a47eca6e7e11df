/* SPDX-License-Identifier: ISC */
/* Three clients ask for the same pages. The first one loads a page, and the others wait for it. With the bug,
 * it doesn't tell the others that it couldn't. */
#include "annotate.h"

#define PAGES 4

enum state {
	UNKNOWN,
	LOADING,
	LOADED
};
struct page {
	enum state state;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct page pages[PAGES];

/* The caller holds the mutex. */
static void page_wait(struct page *page)
{
	thrum_task self = thrum_task_current();

	thrum_task_wait(self, page->task);
	thrum_suspend(THRUM_BLOCKED);
	while (page->state == LOADING)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	thrum_task_read(self, page->task);
}

static bool load(int number)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	pause_ms(20);
	thrum_resume();
	return !(broken && number == 3);
}

/* The caller holds the mutex. */
static void page_load(struct page *page, int number)
{
	bool is_loaded;

	page->state = LOADING;
	page->task = thrum_task_createf(THRUM_KIND_PROMISE, "page %d", number);
	pthread_mutex_unlock(&mutex);
	is_loaded = load(number);
	pthread_mutex_lock(&mutex);
	if (!is_loaded)
		return; /* the bug: it stays LOADING */
	page->state = LOADED;
	thrum_task_resolve(page->task);
	pthread_cond_broadcast(&changed);
}

static void answer(int number)
{
	struct page *page = &pages[number - 1];

	pthread_mutex_lock(&mutex);
	if (page->state == UNKNOWN)
		page_load(page, number);
	else if (page->state == LOADING)
		page_wait(page);
	pthread_mutex_unlock(&mutex);
}

static void *client(void *data)
{
	int self = (int)(intptr_t)data;

	for (int i = 1; i <= PAGES; i++) {
		thrum_task task;

		pause_ms(40 * (unsigned)self);
		task = thrum_task_createf(THRUM_KIND_TASK, "GET /%d for %c", i, '@' + self);
		thrum_task_should_resolve(task);
		THRUM_RUN (task)
			answer(i);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc);
	threads[0] = start(client, (void *)(intptr_t)1);
	threads[1] = start(client, (void *)(intptr_t)2);
	client((void *)(intptr_t)3);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
