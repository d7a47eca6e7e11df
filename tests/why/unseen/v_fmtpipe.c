/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: feed_document writes the whole document before it reads any result; format_text's output pipe fills, so it stops reading: both block in write(2), each on the pipe that the other should drain. main, which joins them, is only the victim.
 *   culprit: feed_document|format_text
 *   victim: main|progress_meter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* docfmt: runs a document through a formatter that is coupled by two pipes. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DOCUMENT (300 * 1024)

static int to_filter[2], from_filter[2];
static bool collect_apart;
static size_t collected;
static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_changed = PTHREAD_COND_INITIALIZER;
static bool finished;

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The formatter: every line comes out indented, so that there is more output than input. */
static void *format_text(void *unused)
{
	char in[1024], out[2048];
	ssize_t n;

	while ((n = read(to_filter[0], in, sizeof(in))) > 0) {
		size_t used = 0;

		for (ssize_t i = 0; i < n; i++) {
			out[used++] = in[i];
			if (in[i] == ' ')
				out[used++] = ' ';
		}
		if (write_all(from_filter[1], out, used))
			break;
	}
	close(from_filter[1]);
	return NULL;
}

static void *collect_output(void *unused)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(from_filter[0], buffer, sizeof(buffer))) > 0) {
		pthread_mutex_lock(&progress_lock);
		collected += (size_t)n;
		pthread_cond_signal(&progress_changed);
		pthread_mutex_unlock(&progress_lock);
	}
	return NULL;
}

static void *feed_document(void *unused)
{
	char *document = malloc(DOCUMENT);

	memset(document, 'x', DOCUMENT);
	for (size_t i = 0; i < DOCUMENT; i += 9)
		document[i] = ' ';
	for (size_t at = 0; at < DOCUMENT; at += 10 * 1024) {
		struct timespec pause = {0, 1000000};

		write_all(to_filter[1], document + at, 10 * 1024);
		nanosleep(&pause, NULL);
	}
	close(to_filter[1]);
	if (!collect_apart)
		collect_output(NULL);
	free(document);
	return NULL;
}

static void *progress_meter(void *unused)
{
	pthread_mutex_lock(&progress_lock);
	while (!finished) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 100000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&progress_changed, &progress_lock, &until);
	}
	pthread_mutex_unlock(&progress_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t feeder, formatter, meter, collector;

	collect_apart = !(argc > 1 && !strcmp(argv[1], "broken"));
	if (pipe(to_filter) || pipe(from_filter))
		return 1;
	pthread_create(&meter, NULL, progress_meter, NULL);
	pthread_create(&formatter, NULL, format_text, NULL);
	if (collect_apart)
		pthread_create(&collector, NULL, collect_output, NULL);
	pthread_create(&feeder, NULL, feed_document, NULL);
	pthread_join(feeder, NULL);
	pthread_join(formatter, NULL);
	if (collect_apart)
		pthread_join(collector, NULL);
	pthread_mutex_lock(&progress_lock);
	finished = true;
	pthread_cond_signal(&progress_changed);
	pthread_mutex_unlock(&progress_lock);
	pthread_join(meter, NULL);
	printf("%zu bytes\n", collected);
	return 0;
}
