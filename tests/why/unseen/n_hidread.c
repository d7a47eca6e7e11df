/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the last transfer completes with data before it can be cancelled; read_callback sets `cancelled`
 *     only for a transfer with the status CANCELLED, so read_thread polls for that for ever and hid_close
 *     never joins it.
 *   culprit: read_thread|hid-read|read_callback|handle_events
 *   victim: hid_close|main|n_hidread
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about hidapi: hid_close hangs as read_thread loops until the transfer is cancelled, while
 * now and then the transfer comes back as completed instead.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPORTS 21
#define POWER 20

enum status {
	COMPLETED,
	CANCELLED
};

struct hid {
	int fd;
	bool submitted, cancel;
	bool cancelled;
	atomic_bool shutdown;
	pthread_t thread;
	int reports;
};

static struct hid keyboard;
static sem_t want_close, close_begun;
static bool healthy;

/* The program closes the keyboard when its power key is pressed. */
static void on_report(int report)
{
	if (report != POWER)
		return;
	sem_post(&want_close);
	sem_wait(&close_begun);
}

static void read_callback(struct hid *hid, enum status status, unsigned char report)
{
	if (status == CANCELLED) {
		hid->cancelled = true;
		return;
	}
	if (atomic_load(&hid->shutdown)) {
		if (healthy)
			hid->cancelled = true;
		return;
	}
	hid->reports++;
	hid->submitted = true;
	on_report(report);
}

/* Handles events for 60 ms at most. Data that has come wins over a wish to cancel. */
static void handle_events(struct hid *hid)
{
	struct pollfd poll_fd = {.fd = hid->fd, .events = POLLIN};
	unsigned char report = 0;

	if (poll(&poll_fd, hid->submitted ? 1 : 0, hid->cancel ? 5 : 60) > 0) {
		hid->submitted = false;
		if (recv(hid->fd, &report, 1, 0) == 1)
			read_callback(hid, COMPLETED, report);
	} else if (hid->cancel && hid->submitted) {
		hid->submitted = false;
		read_callback(hid, CANCELLED, 0);
	}
}

static void *read_thread(void *data)
{
	struct hid *hid = data;

	pthread_setname_np(pthread_self(), "hid-read");
	hid->submitted = true;
	while (!atomic_load(&hid->shutdown))
		handle_events(hid);
	hid->cancel = true;
	while (!hid->cancelled)
		handle_events(hid);
	return NULL;
}

static void hid_close(struct hid *hid)
{
	atomic_store(&hid->shutdown, true);
	sem_post(&close_begun);
	pthread_join(hid->thread, NULL);
	close(hid->fd);
}

/* The device sends the keys, and then the release of the power key. */
static void *press_keys(void *data)
{
	int fd = *(int *)data;

	for (unsigned char report = 1; report <= REPORTS; report++) {
		if (send(fd, &report, 1, 0) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int sockets[2];
	pthread_t device;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return 1;
	sem_init(&want_close, 0, 0);
	sem_init(&close_begun, 0, 0);
	keyboard.fd = sockets[0];
	pthread_create(&keyboard.thread, NULL, read_thread, &keyboard);
	pthread_create(&device, NULL, press_keys, &sockets[1]);
	pthread_join(device, NULL);
	sem_wait(&want_close);
	hid_close(&keyboard);
	printf("%d reports\n", keyboard.reports);
	return 0;
}
