/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread ocr-2 ends after it lost its engine; it should reopen it and read its other pages.
 *   culprit: ocr-2
 *   victim: batch_done|finish_batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Reads scanned pages. Each reader thread has a desk and an engine of its own. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DESKS = 4,
	PAGES = 48,
	ROTATED_PAGE = 22
};

struct page {
	int number;
	bool rotated;
	unsigned words;
	struct page *next;
};

struct engine {
	unsigned char glyphs[4096];
	bool lost;
};

struct desk {
	int index;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t has_page;
	struct page *first, **last;
	bool closed;
};

static struct desk desks[DESKS];
static struct page pages[PAGES];
static bool reopens_engine;

static pthread_mutex_t batch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_done = PTHREAD_COND_INITIALIZER;
static int pages_left;
static unsigned long all_words;

static struct engine *open_engine(void)
{
	struct engine *engine = calloc(1, sizeof *engine);

	if (!engine)
		abort();
	for (size_t i = 0; i < sizeof engine->glyphs; i++)
		engine->glyphs[i] = (unsigned char)(i * 31);
	usleep(1000);
	return engine;
}

/* Returns false if the engine is lost; it can't read a page that is upside down before it was calibrated. */
static bool recognize(struct engine *engine, struct page *page)
{
	unsigned hash = (unsigned)page->number;

	if (engine->lost || page->rotated) {
		engine->lost = true;
		page->rotated = false; /* the next engine reads the corrected scan */
		return false;
	}
	for (int round = 0; round < 200; round++)
		for (size_t i = 0; i < sizeof engine->glyphs; i++)
			hash = hash * 33 + engine->glyphs[i];
	page->words = hash % 400;
	usleep(500);
	return true;
}

static struct page *take_page(struct desk *desk)
{
	struct page *page;

	pthread_mutex_lock(&desk->lock);
	while (!desk->first && !desk->closed)
		pthread_cond_wait(&desk->has_page, &desk->lock);
	page = desk->first;
	if (page && !(desk->first = page->next))
		desk->last = &desk->first;
	pthread_mutex_unlock(&desk->lock);
	return page;
}

static void count_page(struct page *page)
{
	pthread_mutex_lock(&batch_lock);
	all_words += page->words;
	if (--pages_left == 0)
		pthread_cond_signal(&batch_done);
	pthread_mutex_unlock(&batch_lock);
}

static void *read_pages(void *data)
{
	struct desk *desk = data;
	struct engine *engine = open_engine();
	struct page *page;
	char name[16];

	snprintf(name, sizeof name, "ocr-%d", desk->index);
	pthread_setname_np(pthread_self(), name);
	while ((page = take_page(desk))) {
		while (!recognize(engine, page)) {
			free(engine);
			fprintf(stderr, "page %d: engine lost\n", page->number);
			if (!reopens_engine)
				return NULL;
			engine = open_engine();
		}
		count_page(page);
	}
	free(engine);
	return NULL;
}

static void put_page(struct desk *desk, struct page *page)
{
	pthread_mutex_lock(&desk->lock);
	page->next = NULL;
	*desk->last = page;
	desk->last = &page->next;
	pthread_cond_signal(&desk->has_page);
	pthread_mutex_unlock(&desk->lock);
}

static void finish_batch(void)
{
	pthread_mutex_lock(&batch_lock);
	while (pages_left > 0)
		pthread_cond_wait(&batch_done, &batch_lock);
	pthread_mutex_unlock(&batch_lock);
	for (int i = 0; i < DESKS; i++) {
		pthread_mutex_lock(&desks[i].lock);
		desks[i].closed = true;
		pthread_cond_signal(&desks[i].has_page);
		pthread_mutex_unlock(&desks[i].lock);
		pthread_join(desks[i].thread, NULL);
	}
}

int main(int argc, char **argv)
{
	reopens_engine = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	pages_left = PAGES;
	for (int i = 0; i < DESKS; i++) {
		desks[i].index = i;
		desks[i].last = &desks[i].first;
		pthread_mutex_init(&desks[i].lock, NULL);
		pthread_cond_init(&desks[i].has_page, NULL);
		pthread_create(&desks[i].thread, NULL, read_pages, &desks[i]);
	}
	for (int i = 0; i < PAGES; i++) {
		pages[i].number = i;
		pages[i].rotated = i == ROTATED_PAGE;
		put_page(&desks[i % DESKS], &pages[i]);
		usleep(1500); /* the scanner */
	}
	finish_batch();
	printf("%d pages, %lu words\n", PAGES, all_words);
	return 0;
}
