/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the timer idle_timer fires a little before the first deadline, finds no idle flow, and
 *     arm_timer doesn't start it again, because the deadline is the one that it armed already. So no
 *     flow is evicted any more, and the datagram of the thread client-5 waits for a free flow for ever.
 *   culprit: idle_timer|on_idle|arm_timer|evict|uv_timer|timer
 *   victim: client-\d|ask_server
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about sozu: idle UDP flows stay for ever once the timer has fired early. A UDP proxy on
 * libuv with a small table of flows; main runs the loop, the clients are threads.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define FLOWS 4
#define CLIENTS 5
#define TICK 100 /* ms */
#define IDLE 220 /* ms */

struct flow {
	bool used;
	struct sockaddr_in client;
	long deadline;
};

struct held {
	struct sockaddr_in client;
	char text[64];
	struct held *next;
};

static uv_loop_t loop;
static uv_udp_t front;
static uv_timer_t idle_timer;
static uv_async_t stop;
static struct flow flows[FLOWS];
static struct held *held;
static long now_ms, armed_deadline = -1, armed_tick;
static struct sockaddr_in address;
static bool broken;

static void on_idle(uv_timer_t *timer);

/* Starts the timer for the next deadline, at the tick that is nearest to it. */
static void arm_timer(void)
{
	long next = -1;

	for (int i = 0; i < FLOWS; i++)
		if (flows[i].used && (next < 0 || flows[i].deadline < next))
			next = flows[i].deadline;
	if (next == armed_deadline)
		return;
	armed_deadline = next;
	if (next < 0)
		return;
	armed_tick = (next + TICK / 2) / TICK;
	if (armed_tick * TICK <= now_ms)
		armed_tick = now_ms / TICK + 1;
	uv_timer_start(&idle_timer, on_idle, (uint64_t)(armed_tick * TICK - now_ms), 0);
}

static void answer(const struct sockaddr_in *client, const char *text)
{
	char line[80];
	uv_buf_t buffer;

	snprintf(line, sizeof(line), "echo %s", text);
	buffer = uv_buf_init(line, (unsigned)strlen(line));
	uv_udp_try_send(&front, &buffer, 1, (const struct sockaddr *)client);
}

static bool forward(const struct sockaddr_in *client, const char *text)
{
	struct flow *flow = NULL;

	for (int i = 0; i < FLOWS && !flow; i++)
		if (flows[i].used && flows[i].client.sin_port == client->sin_port)
			flow = &flows[i];
	for (int i = 0; i < FLOWS && !flow; i++)
		if (!flows[i].used)
			flow = &flows[i];
	if (!flow)
		return false;
	flow->used = true;
	flow->client = *client;
	flow->deadline = now_ms + IDLE;
	arm_timer();
	answer(client, text);
	return true;
}

static void on_idle(uv_timer_t *timer)
{
	(void)timer;
	now_ms = armed_tick * TICK;
	if (!broken)
		armed_deadline = -1;
	for (int i = 0; i < FLOWS; i++)
		if (flows[i].used && flows[i].deadline <= now_ms)
			flows[i].used = false;
	while (held && forward(&held->client, held->text)) {
		struct held *next = held->next;

		free(held);
		held = next;
	}
	arm_timer();
}

static void on_allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char room[64];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(room, sizeof(room) - 1);
}

static void on_datagram(uv_udp_t *socket, ssize_t size, const uv_buf_t *buffer,
	const struct sockaddr *from, unsigned flags)
{
	struct sockaddr_in client;
	struct held *datagram;

	(void)socket;
	(void)flags;
	if (size <= 0 || !from)
		return;
	buffer->base[size] = 0;
	memcpy(&client, from, sizeof(client));
	if (forward(&client, buffer->base))
		return;
	datagram = calloc(1, sizeof(*datagram));
	if (!datagram)
		return;
	datagram->client = client;
	snprintf(datagram->text, sizeof(datagram->text), "%s", buffer->base);
	datagram->next = held;
	held = datagram;
}

static void ask_server(int number)
{
	int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[80];
	ssize_t size;

	snprintf(text, sizeof(text), "client-%d", number);
	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) ||
		send(descriptor, text, strlen(text), 0) < 0)
		perror("send");
	size = recv(descriptor, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = 0;
	printf("client %d: %s\n", number, text);
	/* The socket stays open until the program ends, so each client has a port of its own. */
}

static void *run_client(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "client-%d", number);
	pthread_setname_np(pthread_self(), name);
	ask_server(number);
	if (number == CLIENTS)
		uv_async_send(&stop);
	return NULL;
}

static void *run_clients(void *data)
{
	pthread_t client;

	(void)data;
	pthread_setname_np(pthread_self(), "clients");
	for (long i = 1; i <= CLIENTS; i++) {
		pthread_create(&client, NULL, run_client, (void *)i);
		pthread_join(client, NULL);
	}
	return NULL;
}

static void on_stop(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&front, NULL);
	uv_close((uv_handle_t *)&idle_timer, NULL);
}

int main(int argc, char **argv)
{
	pthread_t clients;
	int size = sizeof(address);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&loop);
	uv_async_init(&loop, &stop, on_stop);
	uv_timer_init(&loop, &idle_timer);
	uv_udp_init(&loop, &front);
	uv_ip4_addr("127.0.0.1", 0, &address);
	if (uv_udp_bind(&front, (struct sockaddr *)&address, 0) ||
		uv_udp_getsockname(&front, (struct sockaddr *)&address, &size) ||
		uv_udp_recv_start(&front, on_allocate, on_datagram))
		return EXIT_FAILURE;
	pthread_create(&clients, NULL, run_clients, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(clients, NULL);
	uv_loop_close(&loop);
	return EXIT_SUCCESS;
}
