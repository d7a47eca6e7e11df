/* SPDX-License-Identifier: ISC */
/*
 * After tarantool/tarantool #2985.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The transaction thread "tx" itself sends the rows to the replicas, by a blocking write. "replica 2" is suspended
 *     and reads no more, so its socket is full after some rows, and tx stays in iproto_write_blocking for ever. All
 *     clients wait for tx, though they have nothing to do with that replica.
 *   culprit: iproto_write_blocking|relay_send|replica 2
 *   victim: client|main\b|replica 1
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A database with a thread for transactions, some clients, and two replicas that are processes of their own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	REPLICAS = 2,
	CLIENTS = 3,
	INSERTS = 60,
	ROW = 2048,
	QUEUE = 16
};

struct request {
	int key;
	bool done;
	pthread_cond_t answered;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct request *queue[QUEUE];
	unsigned first, count;
	bool stop;
} inbox = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static struct relay {
	int socket;
	pid_t process;
	bool connected;
} relays[REPLICAS];

static bool broken;
static unsigned rows;

/* ---- The replicas --------------------------------------------------------------------------- */

/* Reads rows and applies them. After some rows its host is suspended. */
static void replica(int number, int socket)
{
	char name[16], row[ROW];
	int applied = 0;

	snprintf(name, sizeof(name), "replica %d", number);
	prctl(PR_SET_NAME, name);
	while (recv(socket, row, sizeof(row), MSG_WAITALL) == (ssize_t)sizeof(row)) {
		usleep(200);
		applied++;
		if (number == 2 && applied == 40)
			for (;;)
				pause();
	}
	_exit(0);
}

static void relay_start(int number)
{
	struct relay *relay = &relays[number - 1];
	int ends[2], size = 32768;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(2);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	relay->process = fork();
	if (relay->process < 0)
		exit(2);
	if (!relay->process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < number; i++)
			close(i < number - 1 ? relays[i].socket : ends[0]);
		replica(number, ends[1]);
	}
	close(ends[1]);
	relay->socket = ends[0];
	relay->connected = true;
}

static void relay_stop(struct relay *relay)
{
	if (relay->socket >= 0)
		close(relay->socket);
	relay->socket = -1;
	relay->connected = false;
}

/* ---- The transaction thread ------------------------------------------------------------------ */

static bool iproto_write_blocking(int socket, const char *row, size_t size)
{
	while (size) {
		ssize_t written = send(socket, row, size, MSG_NOSIGNAL);

		if (written <= 0)
			return false;
		row += written;
		size -= (size_t)written;
	}
	return true;
}

static bool iproto_write(int socket, const char *row, size_t size)
{
	return send(socket, row, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

static void relay_send(struct relay *relay, const char *row)
{
	bool sent;

	if (!relay->connected)
		return;
	if (broken)
		sent = iproto_write_blocking(relay->socket, row, ROW);
	else
		sent = iproto_write(relay->socket, row, ROW);
	if (!sent) {
		printf("replica %d is too slow: disconnected\n", (int)(relay - relays) + 1);
		relay_stop(relay);
	}
}

static void process_insert(const struct request *request)
{
	char row[ROW];

	memset(row, request->key, sizeof(row));
	usleep(300); /* the index */
	rows++;
	for (int i = 0; i < REPLICAS; i++)
		relay_send(&relays[i], row);
}

static void *tx(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "tx");
	pthread_mutex_lock(&inbox.mutex);
	for (;;) {
		struct request *request;

		while (!inbox.count && !inbox.stop)
			pthread_cond_wait(&inbox.filled, &inbox.mutex);
		if (!inbox.count)
			break;
		request = inbox.queue[inbox.first];
		inbox.first = (inbox.first + 1) % QUEUE;
		inbox.count--;
		pthread_mutex_unlock(&inbox.mutex);
		process_insert(request);
		pthread_mutex_lock(&inbox.mutex);
		request->done = true;
		pthread_cond_signal(&request->answered);
	}
	pthread_mutex_unlock(&inbox.mutex);
	return NULL;
}

/* ---- The clients ---------------------------------------------------------------------------- */

static void insert(int key)
{
	struct request request = {.key = key, .answered = PTHREAD_COND_INITIALIZER};

	pthread_mutex_lock(&inbox.mutex);
	inbox.queue[(inbox.first + inbox.count++) % QUEUE] = &request;
	pthread_cond_signal(&inbox.filled);
	while (!request.done)
		pthread_cond_wait(&request.answered, &inbox.mutex);
	pthread_mutex_unlock(&inbox.mutex);
}

static void *client(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "client %d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < INSERTS; i++) {
		insert(i);
		usleep(2000 * (unsigned)number);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t transactions, clients[CLIENTS];
	int numbers[CLIENTS];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (int i = 1; i <= REPLICAS; i++)
		relay_start(i);
	if (pthread_create(&transactions, NULL, tx, NULL))
		return 2;
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i + 1;
		if (pthread_create(&clients[i], NULL, client, &numbers[i]))
			return 2;
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&inbox.mutex);
	inbox.stop = true;
	pthread_cond_signal(&inbox.filled);
	pthread_mutex_unlock(&inbox.mutex);
	pthread_join(transactions, NULL);
	for (int i = 0; i < REPLICAS; i++) {
		relay_stop(&relays[i]);
		kill(relays[i].process, SIGTERM);
		waitpid(relays[i].process, NULL, 0);
	}
	printf("%u rows\n", rows);
	return 0;
}
