/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: wifidog-gateway pull request #135 ("Missing mutex unlocks in SSL error path"): get_cyassl_ctx
 *     takes cyassl_mutex to make the context for TLS. When the certificates can't be loaded, which happens
 *     to the thread ping once, it returns without giving the mutex back. From then on each https request,
 *     first that of fw_counter and then the next one of ping itself, waits for it.
 *   culprit: get_cyassl_ctx|\bping\b
 *   victim: fw_counter
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* A gateway of a wireless network. It asks a central server about its guests, and tells it that it is
 * alive. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUESTS 6

struct ssl_context {
	unsigned certificates;
};

struct guest {
	unsigned token;
	unsigned long bytes;
	bool allowed;
};

static pthread_mutex_t cyassl_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ssl_context *cyassl_ctx;
static unsigned loads;

static pthread_mutex_t client_list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct guest guests[GUESTS];

static bool unlocks;
static unsigned pings, counted, pages;

/* The file is rewritten just then at the fourth load. */
static struct ssl_context *load_certificates(void)
{
	struct ssl_context *context;

	usleep(2000);
	if (++loads == 4)
		return NULL;
	context = calloc(1, sizeof *context);
	if (context)
		context->certificates = 140;
	return context;
}

/* With `renew` the configuration may have changed. */
static struct ssl_context *get_cyassl_ctx(bool renew)
{
	struct ssl_context *context;

	pthread_mutex_lock(&cyassl_mutex);
	if (renew) {
		free(cyassl_ctx);
		cyassl_ctx = NULL;
	}
	if (!cyassl_ctx) {
		cyassl_ctx = load_certificates();
		if (!cyassl_ctx) {
			fprintf(stderr, "cannot load the certificates\n");
			if (unlocks)
				pthread_mutex_unlock(&cyassl_mutex);
			return NULL;
		}
	}
	context = cyassl_ctx;
	pthread_mutex_unlock(&cyassl_mutex);
	return context;
}

/* The answer's length, or -1. */
static int https_get(const char *path, bool renew)
{
	struct ssl_context *context = get_cyassl_ctx(renew);

	if (!context)
		return -1;
	usleep(4000); /* handshake, question, answer */
	return (int)strlen(path);
}

static void *ping(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "ping");
	for (;;) {
		if (https_get("/ping/?gw_id=cafe", pings % 3 == 2) >= 0)
			pings++;
		usleep(70000);
	}
	return NULL;
}

static void *fw_counter(void *data)
{
	unsigned i;

	(void)data;
	pthread_setname_np(pthread_self(), "fw_counter");
	usleep(30000);
	for (;;) {
		for (i = 0; i < GUESTS; i++) {
			unsigned long bytes;
			char path[80];

			pthread_mutex_lock(&client_list_mutex);
			bytes = guests[i].bytes;
			pthread_mutex_unlock(&client_list_mutex);
			snprintf(path, sizeof path, "/auth/?stage=counters&token=%u&incoming=%lu",
				i, bytes);
			if (https_get(path, false) >= 0)
				counted++;
		}
		usleep(45000);
	}
	return NULL;
}

/* Shows the page for the log-in to guests that come. */
static void *portal(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "portal");
	for (;;) {
		pthread_mutex_lock(&client_list_mutex);
		guests[pages % GUESTS].bytes += 1000;
		guests[pages % GUESTS].allowed = true;
		pages++;
		pthread_mutex_unlock(&client_list_mutex);
		usleep(10000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	unlocks = !strcmp(argv[1], "healthy");
	pthread_create(&thread, NULL, ping, NULL);
	pthread_create(&thread, NULL, fw_counter, NULL);
	pthread_create(&thread, NULL, portal, NULL);
	for (;;) {
		usleep(200000);
		printf("%u pings, %u counters, %u pages\n", pings, counted, pages);
		fflush(stdout);
	}
}
