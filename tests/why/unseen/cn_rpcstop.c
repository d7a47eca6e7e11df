/* SPDX-License-Identifier: ISC */
/*
 * After bitcoin/bitcoin #27722.
 *
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: http_request_cb counts each request in g_requests, and on_request_complete, which libevent calls when a reply
 *     has been sent, takes it off. One client, "cli 3", is interrupted and resets its connection before the worker has
 *     its reply: libevent frees such a request without on_request_complete. So g_requests never falls to 0 and
 *     StopHTTPServer waits for ever. The fix counts by connection, and its close callback takes off what is left.
 *   culprit: on_request_complete|g_requests|http_request_cb|g_requests_empty
 *   victim: main\b|StopHTTPServer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A node's RPC server: libevent serves HTTP in a thread of its own, workers compute the replies. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	WORKERS = 2,
	QUEUE = 16,
	CLIENTS = 6,
	CALLS = 8,
	INTERRUPTED_CLIENT = 3,
	INTERRUPTED_CALL = 5,
	RESCAN = 500
};

struct work {
	struct evhttp_request *request; /* NULL: the worker ends */
	int height;
};

static bool broken;
static struct event_base *event_base;
static struct evhttp *http_server;
static unsigned short port;
static int replies, dropped;

static pthread_mutex_t g_requests_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_requests_empty = PTHREAD_COND_INITIALIZER;
static int g_requests;
static struct evhttp_connection
	*tracked[QUEUE]; /* the connections of requests that are under way; not if broken */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct work work[QUEUE];
	unsigned first, count;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

/* ---- Requests under way --------------------------------------------------------------------- */

static void g_requests_add(struct evhttp_connection *connection)
{
	pthread_mutex_lock(&g_requests_mutex);
	g_requests++;
	for (int i = 0; i < QUEUE && !broken; i++) {
		if (tracked[i])
			continue;
		tracked[i] = connection;
		break;
	}
	pthread_mutex_unlock(&g_requests_mutex);
}

static void g_requests_remove(struct evhttp_connection *connection)
{
	bool found = broken;

	pthread_mutex_lock(&g_requests_mutex);
	for (int i = 0; i < QUEUE && !found; i++) {
		found = tracked[i] == connection;
		if (found)
			tracked[i] = NULL;
	}
	if (found && !--g_requests)
		pthread_cond_broadcast(&g_requests_empty);
	pthread_mutex_unlock(&g_requests_mutex);
}

static void on_connection_close(struct evhttp_connection *connection, void *data)
{
	(void)data;
	g_requests_remove(connection);
}

static void on_request_complete(struct evhttp_request *request, void *data)
{
	(void)data;
	g_requests_remove(evhttp_request_get_connection(request));
}

/* ---- Workers -------------------------------------------------------------------------------- */

static void queue_push(struct work work)
{
	pthread_mutex_lock(&queue.mutex);
	queue.work[(queue.first + queue.count++) % QUEUE] = work;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

/* Runs in the thread of libevent. */
static void send_reply(evutil_socket_t descriptor, short events, void *data)
{
	struct work *work = data;
	struct evbuffer *body = evbuffer_new();

	(void)descriptor;
	(void)events;
	evbuffer_add_printf(body, "{\"result\":%d}\n", work->height);
	evhttp_send_reply(work->request, 200, "OK", body);
	evbuffer_free(body);
	free(work);
}

static void *http_worker(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "http worker");
	for (;;) {
		struct work *work = malloc(sizeof(*work));
		struct timeval now = {0, 0};

		pthread_mutex_lock(&queue.mutex);
		while (!queue.count)
			pthread_cond_wait(&queue.filled, &queue.mutex);
		*work = queue.work[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.count--;
		pthread_mutex_unlock(&queue.mutex);
		if (!work->request) {
			free(work);
			return NULL;
		}
		usleep(work->height < RESCAN ? 20000 : 250000); /* looks for the block */
		work->height += 800000;
		event_base_once(event_base, -1, EV_TIMEOUT, send_reply, work, &now);
	}
}

static void http_request_cb(struct evhttp_request *request, void *data)
{
	struct work work = {.request = request,
		.height = atoi(evhttp_request_get_uri(request) + 1)};
	struct evhttp_connection *connection = evhttp_request_get_connection(request);

	(void)data;
	g_requests_add(connection);
	evhttp_request_set_on_complete_cb(request, on_request_complete, NULL);
	if (!broken)
		evhttp_connection_set_closecb(connection, on_connection_close, NULL);
	queue_push(work);
}

static void *run_events(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "http");
	event_base_loop(event_base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

/* ---- Clients -------------------------------------------------------------------------------- */

static void call(int number, int i)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct linger reset = {.l_onoff = 1};
	char text[512];
	bool is_rescan = number == INTERRUPTED_CLIENT && i == INTERRUPTED_CALL;
	int fd = socket(AF_INET, SOCK_STREAM, 0), length;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	length = snprintf(text, sizeof(text),
		"GET /%d HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n",
		is_rescan ? RESCAN : i);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
		write(fd, text, (size_t)length) != length)
		exit(2);
	if (is_rescan) {
		usleep(60000); /* it takes long, so somebody interrupts it */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
	} else {
		while (read(fd, text, sizeof(text)) > 0)
			continue;
		__atomic_add_fetch(&replies, 1, __ATOMIC_RELAXED);
	}
	close(fd);
}

static void *cli(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "cli %d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < CALLS; i++) {
		call(number, i);
		usleep(10000);
	}
	return NULL;
}

/* ---- The node ------------------------------------------------------------------------------- */

static void StopHTTPServer(pthread_t *workers, pthread_t events)
{
	for (int i = 0; i < WORKERS; i++)
		queue_push((struct work){NULL, 0});
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_mutex_lock(&g_requests_mutex);
	while (g_requests)
		pthread_cond_wait(&g_requests_empty, &g_requests_mutex);
	pthread_mutex_unlock(&g_requests_mutex);
	event_base_loopexit(event_base, NULL);
	pthread_join(events, NULL);
	evhttp_free(http_server);
	event_base_free(event_base);
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], clients[CLIENTS], events;
	struct evhttp_bound_socket *bound;
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int numbers[CLIENTS];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	evthread_use_pthreads();
	event_base = event_base_new();
	http_server = evhttp_new(event_base);
	evhttp_set_gencb(http_server, http_request_cb, NULL);
	bound = evhttp_bind_socket_with_handle(http_server, "127.0.0.1", 0);
	if (!bound ||
		getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size))
		return 2;
	port = ntohs(address.sin_port);
	if (pthread_create(&events, NULL, run_events, NULL))
		return 2;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, http_worker, NULL))
			return 2;
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i + 1;
		if (pthread_create(&clients[i], NULL, cli, &numbers[i]))
			return 2;
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	printf("%d replies, %d dropped\n", replies, dropped);
	fflush(stdout);
	StopHTTPServer(workers, events);
	return 0;
}
