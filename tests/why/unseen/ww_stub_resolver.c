/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_upstream_answer stops the query's retry timer when the upstream says SERVFAIL, and doesn't
 *          start it again, so the query is never sent a second time. The application thread waits for its
 *          answer.
 *   culprit: on_upstream_answer|on_query_retry
 *   victim: resolve_sync
 *   clue: on_upstream_answer stopped “timer on_query_retry”, but didn't signal “condition answered”
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
#include <uv.h>

enum {
	RCODE_OK = 0,
	RCODE_SERVFAIL = 2,
	MAX_TRIES = 4,
	BACKOFF_MS = 8,
	TIMEOUT_MS = 400
};

struct packet {
	uint16_t id, rcode;
	uint32_t address;
	char name[40];
};

struct query {
	struct query *next;
	uint16_t id, tries;
	char name[40];
	uint32_t address, done;
	uv_timer_t retry;
};

static bool broken;
static uv_loop_t loop;
static uv_udp_t upstream;
static uv_async_t submitted, stop_requested;
static struct sockaddr_in upstream_address;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct query *inbox, *outstanding;

static void on_query_retry(uv_timer_t *timer);

static void send_query(struct query *query)
{
	struct packet packet = {.id = query->id};
	uv_buf_t buffer = uv_buf_init((char *)&packet, sizeof packet);

	query->tries++;
	strcpy(packet.name, query->name);
	uv_udp_try_send(&upstream, &buffer, 1, (struct sockaddr *)&upstream_address);
	uv_timer_start(&query->retry, on_query_retry, TIMEOUT_MS, 0);
}

static void on_query_retry(uv_timer_t *timer)
{
	send_query(timer->data);
}

static void finish_query(struct query *query, uint32_t address)
{
	struct query **at = &outstanding;

	while (*at != query)
		at = &(*at)->next;
	*at = query->next;
	pthread_mutex_lock(&lock);
	query->address = address;
	query->done = true;
	pthread_cond_broadcast(&answered);
	pthread_mutex_unlock(&lock);
}

static void on_upstream_answer(uv_udp_t *handle, ssize_t length, const uv_buf_t *buffer,
	const struct sockaddr *from, unsigned flags)
{
	const struct packet *packet = (const void *)buffer->base;
	struct query *query = outstanding;

	(void)handle, (void)flags;
	while (query && from && query->id != packet->id)
		query = query->next;
	if (!query || !from || length != sizeof *packet)
		return;
	uv_timer_stop(&query->retry);
	if (packet->rcode == RCODE_SERVFAIL && query->tries < MAX_TRIES) {
		/* a server that is starting up recovers soon: the query is tried again */
		if (!broken)
			uv_timer_start(&query->retry, on_query_retry, BACKOFF_MS, 0);
		return;
	}
	finish_query(query, packet->rcode ? 0 : packet->address);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[2048];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof space);
}

static void on_submitted(uv_async_t *async)
{
	static uint16_t next_id = 100;
	struct query *query, *next;

	(void)async;
	pthread_mutex_lock(&lock);
	query = inbox;
	inbox = NULL;
	pthread_mutex_unlock(&lock);
	for (; query; query = next) {
		next = query->next;
		query->id = next_id++;
		query->next = outstanding;
		outstanding = query;
		uv_timer_init(&loop, &query->retry);
		query->retry.data = query;
		send_query(query);
	}
}

static void on_stop(uv_async_t *async)
{
	uv_stop(async->loop);
}

static void *run_resolver(void *unused)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

static void *run_upstream(void *data)
{
	int socket = *(int *)data, seen = 0;
	struct sockaddr_in from;
	socklen_t length = sizeof from;
	struct packet packet;

	while (recvfrom(socket, &packet, sizeof packet, 0, (void *)&from, &length) > 0) {
		packet.rcode = ++seen == 23 ? RCODE_SERVFAIL : RCODE_OK;
		packet.address = 0x0a000000u + packet.id;
		usleep(500);
		sendto(socket, &packet, sizeof packet, 0, (void *)&from, length);
	}
	return NULL;
}

static uint32_t resolve_sync(const char *name)
{
	struct query *query = calloc(1, sizeof *query);

	strcpy(query->name, name);
	pthread_mutex_lock(&lock);
	query->next = inbox;
	inbox = query;
	uv_async_send(&submitted);
	while (!query->done)
		pthread_cond_wait(&answered, &lock);
	pthread_mutex_unlock(&lock);
	return query->address;
}

int main(int argc, char **argv)
{
	int server = socket(AF_INET, SOCK_DGRAM, 0), found = 0;
	socklen_t length = sizeof upstream_address;
	pthread_t resolver, fake;
	char name[40];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_ip4_addr("127.0.0.1", 0, &upstream_address);
	bind(server, (void *)&upstream_address, length);
	getsockname(server, (void *)&upstream_address, &length);
	uv_loop_init(&loop);
	uv_udp_init(&loop, &upstream);
	uv_async_init(&loop, &submitted, on_submitted);
	uv_async_init(&loop, &stop_requested, on_stop);
	uv_udp_recv_start(&upstream, on_alloc, on_upstream_answer);
	pthread_create(&fake, NULL, run_upstream, &server);
	pthread_create(&resolver, NULL, run_resolver, NULL);
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof name, "host%d.example.org", i);
		found += resolve_sync(name) != 0;
	}
	uv_async_send(&stop_requested);
	pthread_join(resolver, NULL);
	printf("%d names found\n", found);
	return found == 120 ? 0 : 1;
}
