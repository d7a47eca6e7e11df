/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1500
 *   ask: why
 *   truth: load_config returns at the first bad line without unlocking config_lock. The thread watch_config that called it goes on to wait for the next change, and every request waits for config_lock for ever.
 *   culprit: watch_config|load_config|config-watch
 *   victim: serve_requests|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A proxy that reads its configuration again when the file changes. */

#define WORKERS 3

static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int timeout, retries, revision;
} config = {30, 1, 0};

static bool broken;
static int changes[2];  /* the file's watcher writes a byte for each change */
static int loaded[2];   /* the configuration's thread answers */
static int requests[2]; /* a byte for each request */
static long served;

static const char *const revisions[] = {
	"timeout 20\nretries 2\n", "timeout 10\nretires 3\n", /* the admin's typing error */
};

/* Takes over a revision of the file. Returns false if it has a line that is wrong. */
static bool load_config(const char *text)
{
	char copy[128], *rest = copy, *line;
	int value;

	snprintf(copy, sizeof(copy), "%s", text);
	pthread_mutex_lock(&config_lock);
	while ((line = strsep(&rest, "\n")) && *line) {
		if (sscanf(line, "timeout %d", &value) == 1) {
			config.timeout = value;
		} else if (sscanf(line, "retries %d", &value) == 1) {
			config.retries = value;
		} else {
			fprintf(stderr, "config: bad line: %s\n", line);
			if (!broken)
				pthread_mutex_unlock(&config_lock);
			return false;
		}
	}
	config.revision++;
	pthread_mutex_unlock(&config_lock);
	return true;
}

static void *watch_config(void *unused)
{
	char number, answer;

	(void)unused;
	while (read(changes[0], &number, 1) == 1) {
		answer = load_config(revisions[(int)number]) ? 'y' : 'n';
		if (write(loaded[1], &answer, 1) != 1)
			break;
	}
	return NULL;
}

static void *serve_requests(void *unused)
{
	char request;
	int timeout;

	(void)unused;
	while (read(requests[0], &request, 1) == 1) {
		pthread_mutex_lock(&config_lock);
		timeout = config.timeout;
		pthread_mutex_unlock(&config_lock);
		usleep((useconds_t)timeout * 50);
		__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t watcher, workers[WORKERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(changes) || pipe(loaded) || pipe(requests))
		return 1;
	pthread_create(&watcher, NULL, watch_config, NULL);
	pthread_setname_np(watcher, "config-watch");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, serve_requests, NULL);
	for (char change = 0; change < 2; change++) {
		char answer;

		for (int i = 0; i < 20; i++)
			if (write(requests[1], "r", 1) != 1)
				return 1;
		if (write(changes[1], &change, 1) != 1 || read(loaded[0], &answer, 1) != 1)
			return 1;
		printf("revision %d: %s\n", change, answer == 'y' ? "loaded" : "refused");
	}
	for (int i = 0; i < 20; i++)
		if (write(requests[1], "r", 1) != 1)
			return 1;
	close(requests[1]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	close(changes[1]);
	pthread_join(watcher, NULL);
	printf("%ld requests\n", served);
	return 0;
}
