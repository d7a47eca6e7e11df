/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good 1
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad 1
 *   ask: diff good
 *   truth: refresh_tokens keeps token_lock while it asks the identity provider (70 ms each time), so handle_web and handle_api wait for the lock and take much longer.
 *   culprit: refresh_tokens|token_lock
 *   victim: handle_web|handle_api|main
 * case: again
 *   args: good 2
 *   ask: diff good
 *   culprit: nothing
 */
/* An authentication daemon: two handlers check tokens, a third thread renews them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t token_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long token = 17, checked;
static bool keep_lock;
static unsigned seed;

static void pause_us(int us)
{
	struct timespec time = {0, us * 1000L};

	nanosleep(&time, NULL);
}

static void check_requests(int count, unsigned random)
{
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(&token_lock);
		checked += token & 1;
		pthread_mutex_unlock(&token_lock);
		pause_us(6000 + rand_r(&random) % 300);
	}
}

static void *handle_web(void *unused)
{
	check_requests(30, seed);
	return NULL;
}

static void *handle_api(void *unused)
{
	check_requests(25, seed + 100);
	return NULL;
}

static unsigned long ask_provider(unsigned long old)
{
	pause_us(70000);
	return old * 3 + 2;
}

static void *refresh_tokens(void *unused)
{
	for (int i = 0; i < 3; i++) {
		if (keep_lock) {
			pthread_mutex_lock(&token_lock);
			token = ask_provider(token);
			pthread_mutex_unlock(&token_lock);
		} else {
			unsigned long new = ask_provider(token);

			pthread_mutex_lock(&token_lock);
			token = new;
			pthread_mutex_unlock(&token_lock);
		}
		pause_us(5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t web, api, refresher;

	keep_lock = argc > 1 && !strcmp(argv[1], "bad");
	seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	pthread_create(&web, NULL, handle_web, NULL);
	pthread_create(&api, NULL, handle_api, NULL);
	pthread_create(&refresher, NULL, refresh_tokens, NULL);
	pthread_join(web, NULL);
	pthread_join(api, NULL);
	pthread_join(refresher, NULL);
	printf("%lu\n", checked);
	return 0;
}
