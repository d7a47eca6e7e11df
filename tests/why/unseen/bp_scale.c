/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: weigh opens the FIFO for the request first and then that for the reply, serve_till opens them the other way round.
 *     Each blocks in its open until the other end is opened, which the other one would do next.
 *   culprit: weigh|serve_till|open_fifo
 *   victim: cash_till|count_customers|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A shop's scale and its till, which talk over two FIFOs, as the scale's old driver does. The till is a thread here. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUSTOMERS 5

static char directory[] = "/tmp/scale-XXXXXX";
static char request_path[64], reply_path[64];
static bool same_order;
static atomic_uint weighed;
static atomic_bool closing;

static int open_fifo(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

/* The driver's side: answers one customer's requests until the till closes its end. */
static void serve_till(void)
{
	int request, reply;
	unsigned article;

	if (same_order) {
		request = open_fifo(request_path, O_RDONLY);
		reply = open_fifo(reply_path, O_WRONLY);
	} else {
		reply = open_fifo(reply_path, O_WRONLY);
		request = open_fifo(request_path, O_RDONLY);
	}
	while (read(request, &article, sizeof(article)) == sizeof(article)) {
		unsigned grams = 100 + article * 37 % 900;

		usleep(2000); /* until it stands still */
		if (write(reply, &grams, sizeof(grams)) != sizeof(grams))
			break;
	}
	close(request);
	close(reply);
}

static void *scale_driver(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "scale");
	for (unsigned i = 0; i < CUSTOMERS; i++)
		serve_till();
	return NULL;
}

/* Weighs what one customer has laid on the scale. */
static unsigned weigh(const unsigned *articles, unsigned count)
{
	int request = open_fifo(request_path, O_WRONLY);
	int reply = open_fifo(reply_path, O_RDONLY);
	unsigned total = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned grams = 0;

		if (write(request, &articles[i], sizeof(articles[i])) != sizeof(articles[i]) ||
			read(reply, &grams, sizeof(grams)) != sizeof(grams))
			break;
		total += grams;
	}
	close(request);
	/* The next customer must not come before the scale is ready for him. */
	while (read(reply, &count, sizeof(count)) > 0)
		continue;
	close(reply);
	return total;
}

static void *cash_till(void *data)
{
	static const unsigned articles[] = {7, 12, 3, 44, 19, 25};

	(void)data;
	pthread_setname_np(pthread_self(), "till");
	for (unsigned i = 0; i < CUSTOMERS; i++) {
		unsigned grams = weigh(articles + i % 3, 1 + i % 4);

		printf("customer %u: %u g\n", i + 1, grams);
		atomic_fetch_add(&weighed, 1);
		usleep(5000);
	}
	return NULL;
}

static void *count_customers(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "counter");
	while (!atomic_load(&closing)) {
		printf("weighed so far: %u\n", atomic_load(&weighed));
		usleep(100000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t scale, till, counter;

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	same_order = strcmp(argv[1], "broken") != 0;
	if (!mkdtemp(directory))
		return 1;
	snprintf(request_path, sizeof(request_path), "%s/request", directory);
	snprintf(reply_path, sizeof(reply_path), "%s/reply", directory);
	if (mkfifo(request_path, 0600) || mkfifo(reply_path, 0600))
		return 1;
	pthread_create(&counter, NULL, count_customers, NULL);
	pthread_create(&scale, NULL, scale_driver, NULL);
	pthread_create(&till, NULL, cash_till, NULL);
	pthread_join(till, NULL);
	pthread_join(scale, NULL);
	atomic_store(&closing, true);
	pthread_join(counter, NULL);
	unlink(request_path);
	unlink(reply_path);
	rmdir(directory);
	puts("shop closed");
	return 0;
}
