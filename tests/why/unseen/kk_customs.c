/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: take_verdict reads all rings of the bell at once, but takes one verdict; the others stay behind.
 *   culprit: take_verdict
 *   victim: collect_receipts
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Parcels arrive at the gate, a loop on epoll. Inspectors ring its bell, an eventfd, for each verdict. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PARCELS 48
#define INSPECTORS 3

struct parcel {
	struct parcel *next;
	uint32_t number;
	bool is_refused;
};

static bool broken;
static int arrivals[2];
static int receipts[2];
static int bell;

static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t shelf_filled = PTHREAD_COND_INITIALIZER;
static struct parcel *shelf;
static bool is_evening;

static pthread_mutex_t verdicts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct parcel *verdicts;

static struct parcel *fetch_parcel(void)
{
	struct parcel *parcel;

	pthread_mutex_lock(&shelf_lock);
	while (!shelf && !is_evening)
		pthread_cond_wait(&shelf_filled, &shelf_lock);
	parcel = shelf;
	if (parcel)
		shelf = parcel->next;
	pthread_mutex_unlock(&shelf_lock);
	return parcel;
}

static void *inspect_parcels(void *unused)
{
	struct parcel *parcel;

	while ((parcel = fetch_parcel())) {
		uint64_t one = 1;
		uint32_t mark = parcel->number;

		for (unsigned int i = 0; i < 20000; i++)
			mark = mark * 1664525 + 1013904223;
		parcel->is_refused = mark % 9 == 0;
		pthread_mutex_lock(&verdicts_lock);
		parcel->next = verdicts;
		verdicts = parcel;
		pthread_mutex_unlock(&verdicts_lock);
		if (write(bell, &one, sizeof(one)) < 0)
			break;
	}
	return unused;
}

static void write_receipt(struct parcel *parcel)
{
	char receipt = parcel->is_refused ? '-' : '+';

	free(parcel);
	usleep(1500);
	if (write(receipts[1], &receipt, 1) != 1)
		perror("receipt");
}

static struct parcel *next_verdict(void)
{
	struct parcel *parcel;

	pthread_mutex_lock(&verdicts_lock);
	parcel = verdicts;
	if (parcel)
		verdicts = parcel->next;
	pthread_mutex_unlock(&verdicts_lock);
	return parcel;
}

static void take_verdict(void)
{
	struct parcel *parcel;
	uint64_t rings;

	if (read(bell, &rings, sizeof(rings)) != sizeof(rings))
		return;
	while ((parcel = next_verdict())) {
		write_receipt(parcel);
		if (broken)
			break;
	}
}

static bool take_arrivals(void)
{
	uint32_t numbers[8];
	ssize_t got = read(arrivals[0], numbers, sizeof(numbers));

	if (got <= 0)
		return false;
	pthread_mutex_lock(&shelf_lock);
	for (size_t i = 0; i < (size_t)got / sizeof(numbers[0]); i++) {
		struct parcel *parcel = calloc(1, sizeof(*parcel));

		if (!parcel)
			abort();
		parcel->number = numbers[i];
		parcel->next = shelf;
		shelf = parcel;
	}
	pthread_cond_broadcast(&shelf_filled);
	pthread_mutex_unlock(&shelf_lock);
	return true;
}

static void *run_gate(void *unused)
{
	struct epoll_event parcels = {.events = EPOLLIN, .data.fd = arrivals[0]};
	struct epoll_event rings = {.events = EPOLLIN, .data.fd = bell};
	int poller = epoll_create1(0);
	bool is_open = true;

	epoll_ctl(poller, EPOLL_CTL_ADD, arrivals[0], &parcels);
	epoll_ctl(poller, EPOLL_CTL_ADD, bell, &rings);
	while (is_open) {
		struct epoll_event events[4];
		int n = epoll_wait(poller, events, 4, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == bell)
				take_verdict();
			else if (!take_arrivals())
				is_open = false;
		}
	}
	return unused;
}

static unsigned int collect_receipts(unsigned int expected)
{
	unsigned int refused = 0;
	char receipt;

	while (expected-- > 0 && read(receipts[0], &receipt, 1) == 1)
		refused += receipt == '-';
	return refused;
}

int main(int argc, char **argv)
{
	pthread_t gate, inspectors[INSPECTORS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	bell = eventfd(0, EFD_CLOEXEC);
	if (bell < 0 || pipe(arrivals) < 0 || pipe(receipts) < 0)
		return 1;
	pthread_create(&gate, NULL, run_gate, NULL);
	for (unsigned int i = 0; i < INSPECTORS; i++)
		pthread_create(&inspectors[i], NULL, inspect_parcels, NULL);
	for (uint32_t number = 1; number <= PARCELS; number++)
		if (write(arrivals[1], &number, sizeof(number)) != sizeof(number))
			return 1;
	printf("%u refused\n", collect_receipts(PARCELS));
	pthread_mutex_lock(&shelf_lock);
	is_evening = true;
	pthread_cond_broadcast(&shelf_filled);
	pthread_mutex_unlock(&shelf_lock);
	close(arrivals[1]);
	pthread_join(gate, NULL);
	for (unsigned int i = 0; i < INSPECTORS; i++)
		pthread_join(inspectors[i], NULL);
	return 0;
}
