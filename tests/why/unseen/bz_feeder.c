/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: keep_stock serves the cook's "take" from the shelf. When the shelf is empty, it neither answers nor
 *     remembers who asked, and the cook waits for ever.
 *   culprit: keeper|keep_stock
 *   victim: cook
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* A kitchen: the keeper hands out what is on the shelf. If it is empty, the cook waits for the next delivery,
 * which comes in a while. A guest asks for the time meanwhile. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	COOK,
	GUEST,
	SUPPLIER,
	CLIENTS
};

static int ends[CLIENTS][2]; /* the keeper's, the client's */
static bool healthy;

static void answer(int client)
{
	if (write(ends[client][0], "here", 4) != 4)
		_exit(1);
}

static void ask(int client, const char *words)
{
	char reply[4];

	if (write(ends[client][1], words, 4) != 4 || read(ends[client][1], reply, 4) != 4)
		_exit(1);
}

static void *keep_stock(void *data)
{
	struct pollfd polled[CLIENTS];
	int shelf = 60;
	bool waits = false;
	char words[4];

	for (int i = 0; i < CLIENTS; i++)
		polled[i] = (struct pollfd){.fd = ends[i][0], .events = POLLIN};
	while (poll(polled, CLIENTS, -1) > 0)
		for (int i = 0; i < CLIENTS; i++) {
			if (!(polled[i].revents & POLLIN) || read(ends[i][0], words, 4) != 4)
				continue;
			if (memcmp(words, "take", 4) == 0) {
				if (shelf > 0)
					shelf--, answer(i);
				else
					waits = healthy;
				continue;
			}
			answer(i);
			if (memcmp(words, "give", 4) == 0 && waits)
				waits = false, answer(COOK);
			else if (memcmp(words, "give", 4) == 0)
				shelf++;
		}
	return data;
}

static void *cook(void *data)
{
	for (;; usleep(1000))
		ask(COOK, "take");
	return data;
}

static void *guest(void *data)
{
	for (;; usleep(5000))
		ask(GUEST, "time");
	return data;
}

static void *supplier(void *data)
{
	for (int i = 0; i < 5; i++) {
		ask(SUPPLIER, "give");
		usleep(2000);
	}
	if (healthy)
		for (;; ask(SUPPLIER, "give"))
			sleep(30);
	return data;
}

int main(int count, char **arguments)
{
	void *(*const mains[])(void *) = {keep_stock, guest, supplier, cook};
	const char *const names[] = {"keeper", "guest", "supplier", "cook"};
	pthread_t thread;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	for (int i = 0; i < CLIENTS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			return 2;
	for (int i = 0; i < 4; i++) {
		pthread_create(&thread, NULL, mains[i], NULL);
		pthread_setname_np(thread, names[i]);
	}
	pthread_join(thread, NULL);
	return 0;
}
