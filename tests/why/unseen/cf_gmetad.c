/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: ganglia monitor-core issue #223 ("slow queries to gmetad xml port can block data_threads"). The thread
 *     "xml server" holds hosts_lock for reading (tree_report) while xml_print writes the report to the client's
 *     socket. The eighth client, another process, stops reading, so the write blocks for ever with the lock held. The
 *     data threads need hosts_lock for writing and hang behind it. The thread "cleanup" of the archives goes on.
 *   culprit: tree_report|xml_print|xml server
 *   victim: thread data|update_host|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Keeps the metrics of a cluster's hosts, and reports them as XML over a socket. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTS 1500
#define SOURCES 3
#define UPDATES 150
#define QUERIES 12

struct client {
	int fd;
	bool failed;
	char *buffer; /* if the report is made in memory first */
	size_t size, used;
};

static struct host {
	char name[32];
	double load, memory;
} hosts[HOSTS];

static pthread_rwlock_t hosts_lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_uint updates, reports, cleaned;
static atomic_bool stopped;
static bool fixed;

/* ---- reports ---- */

static void client_write(struct client *client, const char *text, size_t size)
{
	ssize_t count;

	while (size && !client->failed) {
		count = send(client->fd, text, size, MSG_NOSIGNAL);
		if (count <= 0) {
			client->failed = true;
			break;
		}
		text += count;
		size -= (size_t)count;
	}
}

static void __attribute__((format(printf, 2, 3)))
xml_print(struct client *client, const char *format, ...)
{
	char line[256];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (!client->buffer) {
		client_write(client, line, (size_t)size);
	} else if (client->used + (size_t)size <= client->size) {
		memcpy(client->buffer + client->used, line, (size_t)size);
		client->used += (size_t)size;
	}
}

static void tree_report(struct client *client)
{
	unsigned i;

	pthread_rwlock_rdlock(&hosts_lock);
	xml_print(client, "<GRID NAME=\"campus\" HOSTS=\"%d\">\n", HOSTS);
	for (i = 0; i < HOSTS; i++) {
		xml_print(client,
			"<HOST NAME=\"%s\"><METRIC NAME=\"load_one\" VAL=\"%.2f\" TYPE=\"float\" UNITS=\"\"/>"
			"<METRIC NAME=\"mem_free\" VAL=\"%.0f\" TYPE=\"float\" UNITS=\"KB\" SOURCE=\"gmond\"/></HOST>\n",
			hosts[i].name, hosts[i].load, hosts[i].memory);
	}
	xml_print(client, "</GRID>\n");
	pthread_rwlock_unlock(&hosts_lock);
}

static void *server_thread(void *arg)
{
	int listener = *(int *)arg, i;
	struct timeval patience = {.tv_usec = 200000};
	struct client client;

	for (i = 0; i < QUERIES; i++) {
		client = (struct client){.fd = accept(listener, NULL, NULL)};
		if (client.fd < 0)
			break;
		if (fixed) {
			setsockopt(client.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
			client.size = HOSTS * 256;
			client.buffer = malloc(client.size);
		}
		tree_report(&client);
		if (client.buffer)
			client_write(&client, client.buffer, client.used);
		free(client.buffer);
		close(client.fd);
		reports++;
	}
	return NULL;
}

/* ---- data sources ---- */

static void update_host(struct host *host, unsigned value)
{
	pthread_rwlock_wrlock(&hosts_lock);
	host->load = value % 100 / 10.0;
	host->memory = value * 1000.0;
	pthread_rwlock_unlock(&hosts_lock);
}

static void *data_thread(void *arg)
{
	unsigned source = (unsigned)(size_t)arg, round, i;

	for (round = 0; round < UPDATES; round++) {
		usleep(12000);
		for (i = source; i < HOSTS; i += SOURCES * 50)
			update_host(&hosts[i], round + i);
		updates++;
	}
	return NULL;
}

/* Removes old archives. */
static void *cleanup_thread(void *arg)
{
	while (!stopped) {
		usleep(50000);
		cleaned++;
	}
	return arg;
}

/* The web frontend, a process: asks for the report again and again; the browser of one query is suspended. */
static void frontend(const struct sockaddr_un *address)
{
	char buffer[8192];
	int i, fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 1; i <= QUERIES; i++) {
		usleep(60000);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
			_exit(1);
		if (i == 8 && read(fd, buffer, sizeof(buffer)) > 0) {
			if (!fork()) { /* its window is left open */
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				pause();
				_exit(0);
			}
			close(fd);
			continue;
		}
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
		close(fd);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pthread_t server, cleanup, data[SOURCES];
	char name[16];
	int listener;
	unsigned i;
	pid_t pid;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	for (i = 0; i < HOSTS; i++)
		snprintf(hosts[i].name, sizeof(hosts[i].name), "node%04u.campus.example", i);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "gmetad-%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 16))
		return 1;
	pid = fork();
	if (!pid) {
		close(listener);
		frontend(&address);
	}
	pthread_create(&server, NULL, server_thread, &listener);
	pthread_setname_np(server, "xml server");
	pthread_create(&cleanup, NULL, cleanup_thread, NULL);
	pthread_setname_np(cleanup, "cleanup");
	for (i = 0; i < SOURCES; i++) {
		pthread_create(&data[i], NULL, data_thread, (void *)(size_t)i);
		snprintf(name, sizeof(name), "data %u", i);
		pthread_setname_np(data[i], name);
	}
	for (i = 0; i < SOURCES; i++)
		pthread_join(data[i], NULL);
	pthread_join(server, NULL);
	stopped = true;
	pthread_join(cleanup, NULL);
	waitpid(pid, NULL, 0);
	printf("%u updates, %u reports, %u cleaned\n", updates, reports, cleaned);
	return 0;
}
