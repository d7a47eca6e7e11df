/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=place_order
 *   truth: Orders are confirmed by on_flush(), the callback of a timer of 250 ms. arm_flush() sets this timer anew with
 *     each order, so that it expires only when no order has come for 250 ms: the first order waits for about 1 s.
 *   culprit: on_flush|arm_flush
 *   victim: place_order
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A shop's journal: takes orders by TCP, writes those of a quarter of a second at once to a file, and confirms them. */

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define ORDERS 16
#define BETWEEN_MS 50

struct journal {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *flush_timer;
	struct evbuffer *lines;
	struct bufferevent *unconfirmed[ORDERS];
	unsigned count;
	unsigned flushes;
	int file;
	bool keep_deadline; /* of the first order, when others come */
};

struct order {
	pthread_t thread;
	struct sockaddr_in address;
	int number;
	bool confirmed;
};

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The customer's side. */
static void *place_order(void *data)
{
	struct order *order = data;
	char text[32], answer[8];
	int length = snprintf(text, sizeof(text), "order %d\n", order->number);
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (descriptor < 0)
		return NULL;
	if (!connect(descriptor, (struct sockaddr *)&order->address, sizeof(order->address)) &&
		send(descriptor, text, (size_t)length, MSG_NOSIGNAL) == length)
		order->confirmed = recv(descriptor, answer, 3, MSG_WAITALL) == 3 &&
			!memcmp(answer, "ok\n", 3);
	close(descriptor);
	return NULL;
}

static NOINLINE void write_journal(struct journal *journal)
{
	while (evbuffer_get_length(journal->lines))
		if (evbuffer_write(journal->lines, journal->file) < 0)
			abort();
}

static NOINLINE void on_flush(evutil_socket_t descriptor, short what, void *data)
{
	struct journal *journal = data;

	(void)descriptor;
	(void)what;
	write_journal(journal);
	for (unsigned i = 0; i < journal->count; i++)
		bufferevent_write(journal->unconfirmed[i], "ok\n", 3);
	journal->count = 0;
	journal->flushes++;
}

static NOINLINE void arm_flush(struct journal *journal)
{
	struct timeval delay = {.tv_usec = 250000};

	if (journal->keep_deadline && evtimer_pending(journal->flush_timer, NULL))
		return;
	if (evtimer_add(journal->flush_timer, &delay))
		abort();
}

static NOINLINE void on_order(struct bufferevent *connection, void *data)
{
	struct journal *journal = data;
	char *line = evbuffer_readln(bufferevent_get_input(connection), NULL, EVBUFFER_EOL_LF);

	if (!line)
		return;
	evbuffer_add_printf(journal->lines, "%s\n", line);
	free(line);
	journal->unconfirmed[journal->count++] = connection;
	arm_flush(journal);
}

static NOINLINE void on_hangup(struct bufferevent *connection, short what, void *data)
{
	struct journal *journal = data;

	(void)what;
	for (unsigned i = 0; i < journal->count; i++)
		if (journal->unconfirmed[i] == connection)
			journal->unconfirmed[i] = journal->unconfirmed[--journal->count];
	bufferevent_free(connection);
}

static NOINLINE void on_connection(struct evconnlistener *listener, evutil_socket_t descriptor,
	struct sockaddr *address, int length, void *data)
{
	struct bufferevent *connection;

	(void)address;
	(void)length;
	connection = bufferevent_socket_new(evconnlistener_get_base(listener), descriptor,
		BEV_OPT_CLOSE_ON_FREE);
	if (!connection)
		abort();
	bufferevent_setcb(connection, on_order, NULL, on_hangup, data);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static void *run_journal(void *data)
{
	struct journal *journal = data;

	pthread_setname_np(pthread_self(), "journal");
	event_base_dispatch(journal->base);
	return NULL;
}

static int open_journal(struct journal *journal, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);

	if (evthread_use_pthreads() || !(journal->base = event_base_new()))
		return -1;
	journal->file = memfd_create("journal", MFD_CLOEXEC);
	journal->lines = evbuffer_new();
	journal->flush_timer = evtimer_new(journal->base, on_flush, journal);
	journal->listener = evconnlistener_new_bind(journal->base, on_connection, journal,
		LEV_OPT_CLOSE_ON_FREE, 16, (struct sockaddr *)address, (int)sizeof(*address));
	if (journal->file < 0 || !journal->lines || !journal->flush_timer || !journal->listener)
		return -1;
	return getsockname(evconnlistener_get_fd(journal->listener), (struct sockaddr *)address,
		&size);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct journal journal = {.keep_deadline = !(argc > 1 && !strcmp(argv[1], "broken"))};
	struct order orders[ORDERS] = {0};
	pthread_t thread;
	int confirmed = 0;

	if (open_journal(&journal, &address) ||
		pthread_create(&thread, NULL, run_journal, &journal))
		return EXIT_FAILURE;
	for (int i = 0; i < ORDERS; i++) {
		orders[i].number = i + 1;
		orders[i].address = address;
		if (pthread_create(&orders[i].thread, NULL, place_order, &orders[i]))
			return EXIT_FAILURE;
		pause_ms(BETWEEN_MS);
	}
	for (int i = 0; i < ORDERS; i++) {
		pthread_join(orders[i].thread, NULL);
		confirmed += orders[i].confirmed;
	}
	event_base_loopexit(journal.base, NULL);
	pthread_join(thread, NULL);
	printf("%d of %d orders confirmed, %u times written\n", confirmed, ORDERS, journal.flushes);
	evconnlistener_free(journal.listener);
	event_free(journal.flush_timer);
	evbuffer_free(journal.lines);
	event_base_free(journal.base);
	close(journal.file);
	return EXIT_SUCCESS;
}
