/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: budget_give, called by the thread "preview", wakes only one of the waiters of budget_returned,
 *     and that is the loader of the panorama, for which the budget isn't enough; it waits again. The loader
 *     of the icon, for which the budget would be enough, is never woken, and preview keeps the rest of the
 *     budget until the icon is there.
 *   culprit: budget_give|budget_returned
 *   victim: preview|icon_ready|await_icon
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Loads the pictures of a page within a budget of memory, and shows a preview meanwhile. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET 8

struct picture {
	const char *thread_name;
	int cost;      /* units of memory while it is decoded */
	long found_ms; /* when the page's parser finds it */
	long decode_ms;
	bool icon;
	unsigned checksum;
};

/* The budget of memory: who wants more than is left waits for what others return. */
static pthread_mutex_t budget_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t budget_returned = PTHREAD_COND_INITIALIZER;
static int budget_left = BUDGET;

static pthread_mutex_t icon_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t icon_ready = PTHREAD_COND_INITIALIZER;
static bool have_icon;

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

__attribute__((noinline)) void budget_take(int units)
{
	pthread_mutex_lock(&budget_lock);
	while (budget_left < units)
		pthread_cond_wait(&budget_returned, &budget_lock);
	budget_left -= units;
	pthread_mutex_unlock(&budget_lock);
}

__attribute__((noinline)) void budget_give(int units)
{
	pthread_mutex_lock(&budget_lock);
	budget_left += units;
	pthread_cond_signal(&budget_returned);
	pthread_mutex_unlock(&budget_lock);
}

/* Decodes a picture; the real work is waiting for the disk. */
__attribute__((noinline)) void decode_picture(struct picture *picture)
{
	const char *c;

	sleep_ms(picture->decode_ms);
	for (c = picture->thread_name; *c; c++)
		picture->checksum = picture->checksum * 31 + (unsigned char)*c;
}

__attribute__((noinline)) void publish_icon(void)
{
	pthread_mutex_lock(&icon_lock);
	have_icon = true;
	pthread_cond_broadcast(&icon_ready);
	pthread_mutex_unlock(&icon_lock);
}

__attribute__((noinline)) void await_icon(void)
{
	pthread_mutex_lock(&icon_lock);
	while (!have_icon)
		pthread_cond_wait(&icon_ready, &icon_lock);
	pthread_mutex_unlock(&icon_lock);
}

static void *load_picture(void *argument)
{
	struct picture *picture = argument;

	pthread_setname_np(pthread_self(), picture->thread_name);
	sleep_ms(picture->found_ms);
	budget_take(picture->cost);
	decode_picture(picture);
	budget_give(picture->cost);
	if (picture->icon)
		publish_icon();
	return NULL;
}

/* Draws the preview: first the background with much memory, then the frame with the icon in it. */
static void *draw_preview(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "preview");
	budget_take(7);
	sleep_ms(500);
	budget_give(4); /* the background is drawn, the frame stays in memory */
	await_icon();
	sleep_ms(10);
	budget_give(3);
	return NULL;
}

int main(int argc, char **argv)
{
	struct picture pictures[] = {
		{"load-panorama", 8, 150, 30, false, 0},
		{"load-icon", 3, 320, 20, true, 0},
		{"load-photo", 1, 50, 40, false, 0},
	};
	const size_t n = sizeof(pictures) / sizeof(pictures[0]);
	pthread_t loaders[3], preview;
	size_t i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	/* A page without a panorama has a small photo there. */
	if (strcmp(argv[1], "broken")) {
		pictures[0].thread_name = "load-thumbnail";
		pictures[0].cost = 1;
	}
	/* The preview has its memory before anything is loaded. */
	pthread_create(&preview, NULL, draw_preview, NULL);
	for (i = 0; i < n; i++)
		pthread_create(&loaders[i], NULL, load_picture, &pictures[i]);
	for (i = 0; i < n; i++)
		pthread_join(loaders[i], NULL);
	pthread_join(preview, NULL);
	for (i = 0; i < n; i++)
		printf("%-16s %08x\n", pictures[i].thread_name, pictures[i].checksum);
	printf("tiles: %d of %d units left\n", budget_left, BUDGET);
	return budget_left == BUDGET ? 0 : 1;
}
