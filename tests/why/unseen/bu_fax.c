/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: convert_page writes the whole page to the converter before it reads anything from it. With a big page both
 *     pipes are full: the gateway waits in feed_page for the converter to read, and the converter for the gateway.
 *   culprit: feed_page|convert_page|converter_main
 *   victim: spooler|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 8

struct page {
	int number;
	size_t size;
	size_t sent;
	char *scan;
};

struct feeder {
	int fd;
	const struct page *page;
};

static bool healthy;
static atomic_int line_busy;
static atomic_bool hung_up;

/* The child: turns scan lines into code words, two bytes for each. */
static void converter_main(int in, int out)
{
	char lines[4096], words[8192];
	ssize_t got;

	while ((got = read(in, lines, sizeof(lines))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			words[2 * i] = lines[i] >> 4;
			words[2 * i + 1] = lines[i] & 15;
		}
		if (write(out, words, 2 * got) != 2 * got)
			_exit(1);
	}
	_exit(0);
}

static void *feed_page(void *data)
{
	struct feeder *feeder = data;
	size_t done = 0;

	while (done < feeder->page->size) {
		ssize_t put = write(feeder->fd, feeder->page->scan + done,
			feeder->page->size - done);

		if (put < 0)
			err(1, "write");
		done += put;
	}
	close(feeder->fd);
	return NULL;
}

static void send_to_modem(struct page *page, const char *words, size_t size)
{
	(void)words;
	line_busy = 1;
	usleep(500);
	page->sent += size;
	line_busy = 0;
}

static void convert_page(struct page *page)
{
	int to[2], from[2], status;
	struct feeder feeder;
	pthread_t thread;
	char words[4096];
	ssize_t got;
	pid_t child;

	if (pipe(to) || pipe(from))
		err(1, "pipe");
	child = fork();
	if (child == 0) {
		close(to[1]);
		close(from[0]);
		converter_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	feeder.fd = to[1];
	feeder.page = page;
	if (healthy)
		pthread_create(&thread, NULL, feed_page, &feeder);
	else
		feed_page(&feeder);
	while ((got = read(from[0], words, sizeof(words))) > 0)
		send_to_modem(page, words, got);
	close(from[0]);
	if (healthy)
		pthread_join(thread, NULL);
	waitpid(child, &status, 0);
}

static void *spooler(void *data)
{
	(void)data;
	for (int i = 0; i < PAGES; i++) {
		/* Most are letters; the sixth is a photograph. */
		struct page page = {.number = i, .size = i == 5 ? 300000 : 9000};

		page.scan = malloc(page.size);
		memset(page.scan, 0x5a, page.size);
		convert_page(&page);
		printf("page %d: %zu bytes\n", i, page.sent);
		fflush(stdout);
		free(page.scan);
	}
	return NULL;
}

/* Looks whether the line is still there. */
static void *line_monitor(void *data)
{
	long busy = 0;

	(void)data;
	while (!hung_up) {
		busy += line_busy;
		usleep(25000);
	}
	printf("busy %ld\n", busy);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t spool, monitor;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&monitor, NULL, line_monitor, NULL);
	pthread_create(&spool, NULL, spooler, NULL);
	pthread_join(spool, NULL);
	hung_up = true;
	pthread_join(monitor, NULL);
	return 0;
}
