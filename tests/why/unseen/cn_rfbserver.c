/* SPDX-License-Identifier: ISC */
/*
 * After LibVNC/libvncserver #258.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: rfbShutdownServer goes through the clients with an iterator, which holds a reference to the client at which it
 *     is. It calls rfbClientConnectionGone for this client, and that waits on the condition deleteCond until nobody holds
 *     a reference. So the thread "console" waits for itself. The fix moves the iterator on before.
 *   culprit: rfbShutdownServer|rfbClientConnectionGone|rfbClientIteratorNext|deleteCond|console
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server that shows a screen to viewers. A thread for each viewer reads its input, another one sends updates. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	GUESTS = 4,
	GUEST_EVENTS = 10,
	UPDATE = 64
};

struct client {
	struct client *next;
	int sock;
	int refCount;
	pthread_mutex_t refCountMutex;
	pthread_cond_t deleteCond; /* refCount has become 0 */
	pthread_t thread;
	unsigned events;
};

struct iterator {
	struct client *next; /* the client at which it is */
};

static bool broken;
static pthread_mutex_t rfbClientListMutex = PTHREAD_MUTEX_INITIALIZER;
static struct client *clients;
static bool shutting_down; /* guarded by the mutex, too */
static bool stop_updates;
static unsigned connections, events, updates;

/* ---- References ----------------------------------------------------------------------------- */

static void rfbIncrClientRef(struct client *client)
{
	pthread_mutex_lock(&client->refCountMutex);
	client->refCount++;
	pthread_mutex_unlock(&client->refCountMutex);
}

static void rfbDecrClientRef(struct client *client)
{
	pthread_mutex_lock(&client->refCountMutex);
	if (!--client->refCount)
		pthread_cond_signal(&client->deleteCond);
	pthread_mutex_unlock(&client->refCountMutex);
}

/* Goes on to the next client, to which the iterator holds a reference until the next call. */
static struct client *rfbClientIteratorNext(struct iterator *iterator, bool first)
{
	struct client *before = iterator->next;

	pthread_mutex_lock(&rfbClientListMutex);
	iterator->next = first ? clients : before ? before->next : NULL;
	if (iterator->next)
		rfbIncrClientRef(iterator->next);
	pthread_mutex_unlock(&rfbClientListMutex);
	if (!first && before)
		rfbDecrClientRef(before);
	return iterator->next;
}

/* ---- Clients -------------------------------------------------------------------------------- */

/* Takes a client out of the list, and frees it as soon as nobody uses it. */
static void rfbClientConnectionGone(struct client *client)
{
	pthread_mutex_lock(&rfbClientListMutex);
	for (struct client **link = &clients; *link; link = &(*link)->next) {
		if (*link != client)
			continue;
		*link = client->next;
		break;
	}
	pthread_mutex_unlock(&rfbClientListMutex);
	pthread_mutex_lock(&client->refCountMutex);
	while (client->refCount > 0)
		pthread_cond_wait(&client->deleteCond, &client->refCountMutex);
	pthread_mutex_unlock(&client->refCountMutex);
	close(client->sock);
	events += client->events;
	free(client);
}

static void *clientInput(void *data)
{
	struct client *client = data;
	bool by_shutdown;
	char event;

	pthread_setname_np(pthread_self(), "clientInput");
	while (read(client->sock, &event, 1) == 1)
		client->events++;
	pthread_mutex_lock(&rfbClientListMutex);
	by_shutdown = shutting_down;
	pthread_mutex_unlock(&rfbClientListMutex);
	if (!by_shutdown) { /* else rfbShutdownServer does it */
		pthread_detach(pthread_self());
		rfbClientConnectionGone(client);
	}
	return NULL;
}

static void rfbNewClient(int sock)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		exit(2);
	client->sock = sock;
	pthread_mutex_init(&client->refCountMutex, NULL);
	pthread_cond_init(&client->deleteCond, NULL);
	pthread_mutex_lock(&rfbClientListMutex);
	client->next = clients;
	clients = client;
	connections++;
	if (pthread_create(&client->thread, NULL, clientInput, client))
		exit(2);
	pthread_mutex_unlock(&rfbClientListMutex);
}

static void *sendUpdates(void *data)
{
	static const char update[UPDATE];

	(void)data;
	pthread_setname_np(pthread_self(), "sendUpdates");
	while (!__atomic_load_n(&stop_updates, __ATOMIC_RELAXED)) {
		struct iterator iterator = {NULL};

		for (struct client *client = rfbClientIteratorNext(&iterator, true); client;
			client = rfbClientIteratorNext(&iterator, false))
			if (send(client->sock, update, sizeof(update),
				    MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
				updates++;
		usleep(5000);
	}
	return NULL;
}

static void rfbShutdownServer(void)
{
	struct iterator iterator = {NULL};
	struct client *client, *next;

	pthread_mutex_lock(&rfbClientListMutex);
	shutting_down = true;
	pthread_mutex_unlock(&rfbClientListMutex);
	client = rfbClientIteratorNext(&iterator, true);
	while (client) {
		shutdown(client->sock, SHUT_RDWR);
		pthread_join(client->thread, NULL);
		if (broken) {
			rfbClientConnectionGone(client);
			next = rfbClientIteratorNext(&iterator, false);
		} else {
			next = rfbClientIteratorNext(&iterator, false);
			rfbClientConnectionGone(client);
		}
		client = next;
	}
}

/* ---- The rest of the system ----------------------------------------------------------------- */

/* A viewer that moves its mouse, and looks at what comes; it stays when it has no more to say, if `stays`. */
static void view(int sock, int moves, bool stays)
{
	char update[UPDATE];

	for (int i = 0; i < moves; i++) {
		if (write(sock, "m", 1) != 1)
			break;
		usleep(4000);
	}
	if (!stays)
		shutdown(sock, SHUT_WR);
	while (read(sock, update, sizeof(update)) > 0)
		continue;
	close(sock);
}

static void *guest(void *data)
{
	pthread_setname_np(pthread_self(), "guest");
	view(*(int *)data, GUEST_EVENTS, false);
	return NULL;
}

static void *operator(void *data)
{
	pthread_setname_np(pthread_self(), "operator");
	view(*(int *)data, 40, true);
	return NULL;
}

static void *console(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "console");
	rfbShutdownServer();
	return NULL;
}

static pthread_t connect_viewer(void *(*run)(void *), int *ends)
{
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(2);
	rfbNewClient(ends[0]);
	if (pthread_create(&thread, NULL, run, &ends[1]))
		exit(2);
	return thread;
}

int main(int argc, char **argv)
{
	int ends[GUESTS + 1][2];
	pthread_t updater, stopper, last, thread;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (pthread_create(&updater, NULL, sendUpdates, NULL))
		return 2;
	last = connect_viewer(operator, ends[GUESTS]);
	for (int i = 0; i < GUESTS; i++) {
		thread = connect_viewer(guest, ends[i]);
		pthread_join(thread, NULL);
	}
	usleep(50000);
	if (pthread_create(&stopper, NULL, console, NULL))
		return 2;
	pthread_join(stopper, NULL);
	pthread_join(last, NULL);
	__atomic_store_n(&stop_updates, true, __ATOMIC_RELAXED);
	pthread_join(updater, NULL);
	printf("%u connections, %u events, %u updates\n", connections, events, updates);
	return 0;
}
