/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 800
 *   ask: why
 *   truth: the query for mx.example.org has the id 256; the resolver compares the answer's id as 8 bits, takes it for
 *     another one and drops it (logged). The query is never answered, and the delivery of message 8 waits for it.
 *   culprit: query mx\.example\.org|drop|on_reply
 *   victim: deliver
 * case: healthy
 *   args: healthy
 *   run: stop 800
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* mailq: delivers messages; asks a name server for each domain. Runs until SIGTERM. Sparsely annotated. */
struct packet {
	unsigned id;
	char name[32];
};
struct query {
	unsigned id;
	thrum_task task, delivery;
};
static struct query queries[64];
static int fd, server, count, delivered;
static unsigned next_id = 248;
static bool whole_id;

static void *simulate_server(void *data)
{
	struct packet packet;

	while (read(server, &packet, sizeof packet) == sizeof packet) {
		usleep(4000);
		if (write(server, &packet, sizeof packet) < 0)
			break;
	}
	return NULL;
}

static void deliver(int message)
{
	static const char *const domains[] = {"a.example", "b.example", "c.example",
		"mail.example.net", "x.example", "y.example", "z.example", "w.example",
		"mx.example.org"};
	struct query *query = &queries[count++];
	struct packet packet = {.id = next_id++};

	query->delivery = thrum_task_createf(THRUM_KIND_TASK, "deliver message %d", message);
	THRUM_RUN (query->delivery) {
		snprintf(packet.name, sizeof packet.name, "%s", domains[message]);
		query->id = packet.id;
		query->task = thrum_task_createf(THRUM_KIND_REQUEST, "query %s", packet.name);
		thrum_task_wait(query->delivery, query->task);
		if (write(fd, &packet, sizeof packet) < 0)
			thrum_task_fail(query->task, "send");
	}
}

static void on_reply(const struct packet *packet)
{
	unsigned id = whole_id ? packet->id : (unsigned char)packet->id;

	for (int i = 0; i < count; i++) {
		struct query *query = &queries[i];

		if (query->id == id) {
			THRUM_RUN (query->task)
				thrum_task_resolve(query->task);
			THRUM_RUN (query->delivery) {
				thrum_task_read(query->delivery, query->task);
				thrum_task_resolve(query->delivery);
			}
			query->id = ~0u;
			delivered++;
			return;
		}
	}
	thrum_logf("drop reply for %s: unknown id %u", packet->name, id);
}

int main(int argc, char **argv)
{
	struct pollfd fds[2];
	pthread_t thread;
	sigset_t set;
	int ends[2], message = 0;

	whole_id = argc > 1 && !strcmp(argv[1], "healthy");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return 2;
	fd = ends[0];
	server = ends[1];
	pthread_create(&thread, NULL, simulate_server, NULL);
	fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = signalfd(-1, &set, 0), .events = POLLIN};
	for (;;) {
		struct packet packet;
		int n;

		if (message < 9)
			deliver(message++);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = poll(fds, 2, message < 9 ? 20 : -1);
		thrum_resume();
		if (n > 0 && fds[0].revents && read(fd, &packet, sizeof packet) == sizeof packet)
			on_reply(&packet);
		if (n > 0 && fds[1].revents)
			break;
	}
	thrum_stop();
	printf("mailq: %d of %d delivered\n", delivered, message);
	return 0;
}
