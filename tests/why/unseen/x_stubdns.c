/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=resolve
 *   truth: The slowest "resolve" asked ns1 first, which never answered; only after the timeout of 300 ms it asked ns2, which answered at once.
 *   culprit: ns1
 *   victim: ns2
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	NAMES = 8,
	TIMEOUT = 300000000
};

struct lookup {
	thrum_task task, query, timer, choice;
	int64_t due;
	int server;
	bool done;
};

static const char *queries[] = {"query ns1", "query ns2"};
static int servers[2][2];
static struct lookup lookups[NAMES];
static bool slow;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void ask(struct lookup *lookup, int number, int server)
{
	char packet = (char)number;

	lookup->server = server;
	THRUM_RUN (lookup->task) {
		lookup->query = thrum_task_create(THRUM_KIND_REQUEST, queries[server]);
		lookup->timer = thrum_task_create(THRUM_KIND_TIMER, "query timeout");
		thrum_task_due(lookup->timer, TIMEOUT);
		lookup->due = now() + TIMEOUT;
		lookup->choice = thrum_task_create(THRUM_KIND_CHOOSE, "answer or timeout");
		thrum_task_wait(lookup->choice, lookup->query);
		thrum_task_wait(lookup->choice, lookup->timer);
		thrum_task_wait(lookup->task, lookup->choice);
		if (write(servers[server][0], &packet, 1) != 1)
			lookup->due = 0;
	}
}

static void on_answer(struct lookup *lookup)
{
	THRUM_RUN (lookup->task) {
		thrum_task_resolve(lookup->query);
		thrum_task_cancel(lookup->timer);
		thrum_task_resolve(lookup->choice);
		thrum_task_read(lookup->task, lookup->choice);
		thrum_task_resolve(lookup->task);
		lookup->done = true;
	}
}

static void on_timeout(struct lookup *lookup, int number)
{
	THRUM_RUN (lookup->task) {
		thrum_task_resolve(lookup->timer);
		thrum_task_cancel(lookup->query);
		thrum_task_resolve(lookup->choice);
		thrum_task_read(lookup->task, lookup->choice);
	}
	ask(lookup, number, 1);
}

/* Somebody else's server. */
static void *name_server(void *data)
{
	int number = *(int *)data;
	char packet;

	while (read(servers[number][1], &packet, 1) == 1) {
		usleep(3000);
		if (slow && number == 0 && packet == 3)
			continue;
		if (write(servers[number][1], &packet, 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[] = {0, 1};
	int64_t begin = now();
	int asked = 0, done = 0;

	slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, servers[i]))
			return 1;
		pthread_create(&thread, NULL, name_server, &numbers[i]);
		pthread_detach(thread);
	}
	while (done < NAMES) {
		struct pollfd entries[2];

		if (asked < NAMES && now() - begin > asked * 30000000LL) {
			lookups[asked].task = thrum_task_create(THRUM_KIND_TASK, "resolve");
			thrum_task_should_resolve(lookups[asked].task);
			ask(&lookups[asked], asked, asked % 4 == 1);
			asked++;
		}
		for (int i = 0; i < 2; i++)
			entries[i] = (struct pollfd){.fd = servers[i][0], .events = POLLIN};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(entries, 2, 5);
		thrum_resume();
		for (int i = 0; i < 2; i++) {
			char packet;

			if (entries[i].revents & POLLIN && read(entries[i].fd, &packet, 1) == 1 &&
				lookups[(int)packet].server == i) {
				on_answer(&lookups[(int)packet]);
				done++;
			}
		}
		for (int i = 0; i < asked; i++)
			if (!lookups[i].done && lookups[i].server == 0 && now() > lookups[i].due)
				on_timeout(&lookups[i], i);
	}
	return 0;
}
