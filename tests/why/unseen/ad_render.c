/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: prefetch_assets gives up after four assets, as nobody renews its session; pages fetch the rest.
 *   culprit: prefetch_assets|renew_session
 *   victim: render_page|fetch_late
 */

/* A static site: one thread fetches assets ahead, three render pages and fetch what is missing, late. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RENDERERS 3
#define PAGES 12
#define ASSETS 16
#define SESSION 4 /* assets that a session is good for */

enum state {
	MISSING,
	ON_ITS_WAY,
	READY,
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asset_ready = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t origin_lock = PTHREAD_MUTEX_INITIALIZER;
static enum state cache[ASSETS];
static int next_page, late_assets;
static bool prefetch_ended, can_renew;

static void nap_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static void put_asset(int asset, enum state state)
{
	pthread_mutex_lock(&cache_lock);
	cache[asset] = state;
	if (state == READY)
		pthread_cond_broadcast(&asset_ready);
	pthread_mutex_unlock(&cache_lock);
}

/* Gets a new session for the next assets. Returns false if the origin asks for the password again. */
static bool renew_session(void)
{
	if (!can_renew)
		return false;
	pthread_mutex_lock(&origin_lock);
	nap_ms(3);
	pthread_mutex_unlock(&origin_lock);
	return true;
}

/* Fetches over the kept connection, which is fast. */
static void fetch_early(int asset)
{
	put_asset(asset, ON_ITS_WAY);
	nap_ms(5);
	put_asset(asset, READY);
}

static void *prefetch_assets(void *data)
{
	int used = 0;

	(void)data;
	for (int asset = 0; asset < ASSETS; asset++) {
		bool is_wanted;

		if (used == SESSION) {
			if (!renew_session())
				break;
			used = 0;
		}
		pthread_mutex_lock(&cache_lock);
		is_wanted = cache[asset] == MISSING;
		pthread_mutex_unlock(&cache_lock);
		if (is_wanted) {
			fetch_early(asset);
			used++;
		}
	}
	pthread_mutex_lock(&cache_lock);
	prefetch_ended = true;
	pthread_cond_broadcast(&asset_ready);
	pthread_mutex_unlock(&cache_lock);
	return NULL;
}

/* Fetches with a connection for each asset. The origin allows one at a time. */
static void fetch_late(int asset)
{
	pthread_mutex_lock(&origin_lock);
	nap_ms(18);
	pthread_mutex_unlock(&origin_lock);
	put_asset(asset, READY);
}

static void need_asset(int asset)
{
	bool is_late;

	pthread_mutex_lock(&cache_lock);
	while (cache[asset] != READY && (cache[asset] == ON_ITS_WAY || !prefetch_ended))
		pthread_cond_wait(&asset_ready, &cache_lock);
	is_late = cache[asset] == MISSING;
	if (is_late) {
		cache[asset] = ON_ITS_WAY;
		late_assets++;
	}
	pthread_mutex_unlock(&cache_lock);
	if (is_late)
		fetch_late(asset);
}

static unsigned render_page(int page)
{
	unsigned sum = (unsigned)page;

	for (int i = 0; i < 3; i++)
		need_asset((page + i * 2) % ASSETS);
	for (unsigned i = 0; i < 400000; i++)
		sum = sum * 33 + i;
	nap_ms(2); /* writes it */
	return sum;
}

static void *render_pages(void *data)
{
	unsigned *sum = data;

	for (;;) {
		int page;

		pthread_mutex_lock(&cache_lock);
		page = next_page++;
		pthread_mutex_unlock(&cache_lock);
		if (page >= PAGES)
			return NULL;
		*sum ^= render_page(page);
	}
}

int main(int argc, char **argv)
{
	pthread_t prefetcher, renderers[RENDERERS];
	unsigned sums[RENDERERS] = {0};

	can_renew = argc < 2 || strcmp(argv[1], "bad") != 0;
	pthread_create(&prefetcher, NULL, prefetch_assets, NULL);
	for (int i = 0; i < RENDERERS; i++)
		pthread_create(&renderers[i], NULL, render_pages, &sums[i]);
	pthread_join(prefetcher, NULL);
	for (int i = 0; i < RENDERERS; i++)
		pthread_join(renderers[i], NULL);
	printf("%d pages, %d assets late, sum %x\n", PAGES, late_assets,
		sums[0] ^ sums[1] ^ sums[2]);
	return 0;
}
