/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: broken
 *   args: broken
 *   ask: why --slow=thread serve_request
 *   truth: throttle sleeps while it holds table_lock, the lock of the table of all clients' budgets. The nightly copy (bulk_copy) has used up its own budget and sleeps there for 450 ms; a small request of another client, which has budget enough, waits for the lock for so long.
 *   culprit: bulk_copy
 *   victim: serve_request
 */
/*
 * A file server that gives each client a budget of bytes a second. One that is beyond its budget has
 * to sleep until it is good again.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 8
#define REQUESTS 10

struct budget {
	char client[24];
	int64_t bytes; /* that may still go; negative: in debt */
	int64_t rate;  /* bytes a millisecond */
	int64_t when;  /* of the last change, ms */
};

static bool broken;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct budget table[CLIENTS];
static int clients;
static sem_t in_debt; /* the copy is about to pay */

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The caller holds the table. */
static struct budget *budget_of(const char *client)
{
	struct budget *budget;

	for (int i = 0; i < clients; i++)
		if (!strcmp(table[i].client, client))
			return &table[i];
	if (clients == CLIENTS)
		abort();
	budget = &table[clients++];
	snprintf(budget->client, sizeof(budget->client), "%s", client);
	budget->rate = 200;
	budget->bytes = 60000;
	budget->when = now_ms();
	return budget;
}

static void sleep_ms(int64_t ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Takes the bytes from the client's budget; returns when it is good. */
static void throttle(const char *client, int64_t bytes)
{
	struct budget *budget;
	int64_t now, debt;

	pthread_mutex_lock(&table_lock);
	budget = budget_of(client);
	now = now_ms();
	budget->bytes += (now - budget->when) * budget->rate;
	if (budget->bytes > 60000)
		budget->bytes = 60000;
	budget->when = now;
	budget->bytes -= bytes;
	debt = budget->bytes < 0 ? -budget->bytes / budget->rate : 0;
	if (broken) {
		if (debt > 0) {
			sem_post(&in_debt);
			sleep_ms(debt);
		}
		pthread_mutex_unlock(&table_lock);
		return;
	}
	pthread_mutex_unlock(&table_lock);
	if (debt > 0) {
		sem_post(&in_debt);
		sleep_ms(debt);
	}
}

static unsigned read_blocks(int blocks)
{
	unsigned sum = 1;

	for (int i = 0; i < blocks * 20000; i++)
		sum = sum * 1103515245 + 12345;
	usleep((useconds_t)blocks * 1000);
	return sum;
}

static void *bulk_copy(void *data)
{
	unsigned sum = 0;

	for (int part = 0; part < 5; part++) {
		/* The last part is the data base, which is large. */
		throttle("backup.lan", part < 4 ? 10000 : 110000);
		sum += read_blocks(4);
	}
	*(unsigned *)data = sum;
	return NULL;
}

static void *serve_request(void *data)
{
	int number = *(int *)data;
	char client[24];

	snprintf(client, sizeof(client), "desk-%d.lan", number % 5);
	throttle(client, 800);
	*(int *)data = (int)(read_blocks(3) >> 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t copy, request;
	unsigned copied;
	int number;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&in_debt, 0, 0);
	for (int i = 0; i < REQUESTS; i++) {
		/* The backup's hour comes before the eighth request. */
		if (i == 7) {
			pthread_create(&copy, NULL, bulk_copy, &copied);
			while (sem_wait(&in_debt))
				continue;
		}
		number = i;
		pthread_create(&request, NULL, serve_request, &number);
		pthread_join(request, NULL);
	}
	pthread_join(copy, NULL);
	printf("%d requests, %d clients\n", REQUESTS, clients);
	return 0;
}
