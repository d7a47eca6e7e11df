/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=handle_request
 *   truth: refresh_prices, a timeout of the main loop, asks the supplier by a blocking read (g_input_stream_read_all);
 *     the supplier takes 600 ms, and the requests that were handed to the main loop meanwhile begin only after that.
 *   culprit: refresh_prices|ask_supplier
 *   victim: handle_request|shop-[0-9]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A catalogue: threads of shops hand requests to the main loop, which owns the prices and refreshes them at times. */
#include <gio/gio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARTICLES 8
#define SHOPS 3

struct catalog {
	GMainLoop *loop;
	GSocketConnection *supplier;
	int prices[ARTICLES];
	int revision;
	int requests_left;
};

struct request {
	struct catalog *catalog;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	int article;
	int price; /* -1 until it is answered */
};

struct shop {
	struct catalog *catalog;
	int number;
	int requests;
	int total;
};

struct supplier {
	int fd;
	unsigned delay_ms;
};

/* The supplier computes its list when asked; the list of a large supplier takes its time. */
static void *run_supplier(void *argument)
{
	struct supplier *supplier = argument;
	int list[ARTICLES];
	char command;

	pthread_setname_np(pthread_self(), "supplier");
	while (read(supplier->fd, &command, 1) == 1) {
		usleep(supplier->delay_ms * 1000);
		for (int i = 0; i < ARTICLES; i++)
			list[i] = 100 + 7 * i;
		if (write(supplier->fd, list, sizeof list) != sizeof list)
			break;
	}
	close(supplier->fd);
	return NULL;
}

static __attribute__((noinline)) gboolean ask_supplier(struct catalog *catalog, int *list)
{
	GOutputStream *output = g_io_stream_get_output_stream(G_IO_STREAM(catalog->supplier));
	GInputStream *input = g_io_stream_get_input_stream(G_IO_STREAM(catalog->supplier));
	gsize got = 0;

	if (!g_output_stream_write_all(output, "?", 1, NULL, NULL, NULL))
		return FALSE;
	return g_input_stream_read_all(input, list, ARTICLES * sizeof *list, &got, NULL, NULL) &&
		got == ARTICLES * sizeof *list;
}

static gboolean refresh_prices(gpointer data)
{
	struct catalog *catalog = data;
	int list[ARTICLES];

	if (ask_supplier(catalog, list)) {
		memcpy(catalog->prices, list, sizeof list);
		catalog->revision++;
	}
	return G_SOURCE_REMOVE;
}

static gboolean handle_request(gpointer data)
{
	struct request *request = data;
	struct catalog *catalog = request->catalog;

	pthread_mutex_lock(&request->lock);
	request->price = catalog->prices[request->article];
	pthread_cond_signal(&request->answered);
	pthread_mutex_unlock(&request->lock);
	if (!--catalog->requests_left)
		g_main_loop_quit(catalog->loop);
	return G_SOURCE_REMOVE;
}

static __attribute__((noinline)) int ask_price(struct catalog *catalog, int article)
{
	struct request request = {
		.catalog = catalog,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.answered = PTHREAD_COND_INITIALIZER,
		.article = article,
		.price = -1,
	};

	g_idle_add_full(G_PRIORITY_DEFAULT, handle_request, &request, NULL);
	pthread_mutex_lock(&request.lock);
	while (request.price < 0)
		pthread_cond_wait(&request.answered, &request.lock);
	pthread_mutex_unlock(&request.lock);
	return request.price;
}

static void *run_shop(void *argument)
{
	struct shop *shop = argument;
	char name[16];

	snprintf(name, sizeof name, "shop-%d", shop->number % 10);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < shop->requests; i++) {
		shop->total += ask_price(shop->catalog, (shop->number + i) % ARTICLES);
		usleep(180 * 1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct catalog catalog = {.requests_left = SHOPS * 4};
	struct supplier supplier;
	struct shop shops[SHOPS];
	pthread_t supplier_thread, threads[SHOPS];
	GSocket *socket;
	int fds[2], total = 0;

	if (argc != 2)
		return 2;
	supplier.delay_ms = !strcmp(argv[1], "broken") ? 600 : 2;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return 1;
	supplier.fd = fds[1];
	for (int i = 0; i < ARTICLES; i++)
		catalog.prices[i] = 90 + 7 * i;
	catalog.loop = g_main_loop_new(NULL, FALSE);
	socket = g_socket_new_from_fd(fds[0], NULL);
	if (!socket)
		return 1;
	catalog.supplier = g_socket_connection_factory_create_connection(socket);
	g_object_unref(socket);
	if (pthread_create(&supplier_thread, NULL, run_supplier, &supplier))
		return 1;
	g_timeout_add(250, refresh_prices, &catalog);
	for (int i = 0; i < SHOPS; i++) {
		shops[i] = (struct shop){.catalog = &catalog, .number = i + 1, .requests = 4};
		if (pthread_create(&threads[i], NULL, run_shop, &shops[i]))
			return 1;
	}
	g_main_loop_run(catalog.loop);
	for (int i = 0; i < SHOPS; i++) {
		pthread_join(threads[i], NULL);
		total += shops[i].total;
	}
	g_io_stream_close(G_IO_STREAM(catalog.supplier), NULL, NULL);
	pthread_join(supplier_thread, NULL);
	printf("revision %d, total %d\n", catalog.revision, total);
	g_object_unref(catalog.supplier);
	g_main_loop_unref(catalog.loop);
	return total > 0 ? 0 : 1;
}
