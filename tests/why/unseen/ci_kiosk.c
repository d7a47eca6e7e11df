/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: When all places are taken, pause_accepting takes the listener out of the epoll. drop_client should
 *     put it back when a place becomes free, but compares the number of clients after it counted down:
 *     it is never MAX_CLIENTS then. The visitors whose connections lie in the backlog wait for ever.
 *   culprit: drop_client|pause_accepting
 *   victim: visitor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A museum: visitors ask a server at the entrance where things are. It serves few at a time; the board in the
 * hall stays connected all day. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MAX_CLIENTS = 3, /* with the board */
	CALM_VISITORS = 6,
	GROUP = 4,
};

static int epoll, listener;
static unsigned client_count;
static unsigned answered;
static bool healthy;
static atomic_bool is_closing;
static struct sockaddr_un address;
static socklen_t address_size;

static void watch(int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
		abort();
}

static void pause_accepting(void)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
}

static void accept_client(void)
{
	int client = accept(listener, NULL, NULL);

	if (client < 0)
		return;
	watch(client);
	client_count++;
	if (client_count == MAX_CLIENTS)
		pause_accepting();
}

static void drop_client(int client)
{
	bool was_full = client_count == MAX_CLIENTS;

	close(client); /* leaves the epoll, too */
	client_count--;
	if (healthy ? was_full : client_count == MAX_CLIENTS)
		watch(listener);
}

/* Returns false when the board has gone: then the museum closes. */
static bool serve_client(int client)
{
	char question[32] = "", answer[64];
	ssize_t size = read(client, question, sizeof(question) - 1);

	if (size <= 0) {
		drop_client(client);
		return true;
	}
	if (!strcmp(question, "closing"))
		return false;
	snprintf(answer, sizeof(answer), "%s: room %d", question, question[0] % 7 + 1);
	if (write(client, answer, strlen(answer)) > 0)
		answered++;
	return true;
}

static void *serve(void *data)
{
	struct epoll_event events[8];
	bool is_open = true;

	(void)data;
	watch(listener);
	while (is_open) {
		int count = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				accept_client();
			else if (!serve_client(events[i].data.fd))
				is_open = false;
		}
	}
	return NULL;
}

static int enter(void)
{
	int connection = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connection < 0 || connect(connection, (struct sockaddr *)&address, address_size))
		abort();
	return connection;
}

static void ask(int connection, const char *question)
{
	char answer[64];

	if (write(connection, question, strlen(question)) < 0 ||
		read(connection, answer, sizeof(answer)) <= 0)
		abort();
}

static void *visitor(void *data)
{
	int connection = enter();

	ask(connection, data);
	usleep(30000); /* reads the answer */
	ask(connection, "coffee");
	close(connection);
	return NULL;
}

static void *board(void *data)
{
	int connection = *(int *)data;

	while (!atomic_load(&is_closing)) {
		ask(connection, "events");
		usleep(100000);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	static char *sights[] = {"mummies", "coins", "maps", "clocks", "armour", "birds"};
	pthread_t server, board_thread, visitors[GROUP];
	int to_board;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	address.sun_family = AF_UNIX;
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
		(size_t)snprintf(address.sun_path + 1, 32, "ci_kiosk.%d", (int)getpid()));
	epoll = epoll_create1(0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, address_size) || listen(listener, 16))
		return 1;
	pthread_create(&server, NULL, serve, NULL);
	to_board = enter();
	pthread_create(&board_thread, NULL, board, &to_board);
	for (int i = 0; i < CALM_VISITORS; i++) {
		pthread_create(&visitors[0], NULL, visitor, sights[i]);
		pthread_join(visitors[0], NULL);
		usleep(5000);
	}
	for (int i = 0; i < GROUP; i++)
		pthread_create(&visitors[i], NULL, visitor, sights[i]);
	for (int i = 0; i < GROUP; i++)
		pthread_join(visitors[i], NULL);
	atomic_store(&is_closing, true);
	pthread_join(board_thread, NULL);
	if (write(to_board, "closing", 7) != 7)
		return 1;
	pthread_join(server, NULL);
	printf("%u questions\n", answered);
	return 0;
}
