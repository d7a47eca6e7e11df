/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The backoff timer fires while the window is full. Its callback returns as if the timer came again,
 *          and nobody arms it again. Chunk 28, which the store refused, is never sent again.
 *   culprit: backoff
 *   victim: PUT chunk 28|upload disk.img
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CHUNKS 120
#define WINDOW 4
#define MS 1000000LL

struct message {
	int chunk;
	bool busy;
};

struct timer {
	const char *name;
	long long due; /* 0: not armed */
	void (*fire)(void);
	thrum_task task;
};

static thrum_task chunks[CHUNKS], store, upload;
static int pending[CHUNKS * 2], pending_head, pending_tail; /* chunks that wait for the window */
static int refused[CHUNKS], refused_count;
static int produced, in_flight, accepted, store_socket;
static bool broken;

static void read_disk(void);
static void send_refused(void);
static void show_progress(void);

enum {
	DISK,
	BACKOFF,
	PROGRESS,
	TIMERS
};
static struct timer timers[TIMERS] = {
	{.name = "read disk", .fire = read_disk},
	{.name = "backoff", .fire = send_refused},
	{.name = "progress", .fire = show_progress},
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void arm(struct timer *timer, long long ns)
{
	timer->due = now() + ns;
	timer->task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_TIMER, timer->name);
	thrum_task_due(timer->task, ns);
}

static void put_chunk(int chunk)
{
	struct message message = {.chunk = chunk};

	in_flight++;
	thrum_task_wait(chunks[chunk], store);
	if (write(store_socket, &message, sizeof(message)) != sizeof(message))
		thrum_task_fail(chunks[chunk], "write");
}

static void fill_window(void)
{
	while (in_flight < WINDOW && pending_head < pending_tail)
		put_chunk(pending[pending_head++]);
}

static void read_disk(void)
{
	int chunk = produced++;

	chunks[chunk] = thrum_task_createf(THRUM_KIND_REQUEST, "PUT chunk %d", chunk);
	thrum_task_should_resolve(chunks[chunk]);
	thrum_task_wait(upload, chunks[chunk]);
	pending[pending_tail++] = chunk;
	fill_window();
	if (produced < CHUNKS)
		arm(&timers[DISK], 2 * MS);
}

static void send_refused(void)
{
	if (in_flight >= WINDOW) {
		if (!broken)
			arm(&timers[BACKOFF], 5 * MS);
		return; /* next time */
	}
	for (int i = 0; i < refused_count; i++) {
		thrum_task_read(chunks[refused[i]], timers[BACKOFF].task);
		pending[pending_tail++] = refused[i];
	}
	refused_count = 0;
	fill_window();
}

static void show_progress(void)
{
	fprintf(stderr, "%d of %d chunks\n", accepted, CHUNKS);
	arm(&timers[PROGRESS], 30 * MS);
}

static void on_reply(const struct message *message)
{
	thrum_task task = chunks[message->chunk];

	THRUM_RUN (task) {
		thrum_task_read(task, store);
		in_flight--;
		if (!message->busy) {
			accepted++;
			thrum_task_resolve(task);
			break;
		}
		/* All that are refused until the timer fires share it. */
		if (refused_count++ == 0)
			arm(&timers[BACKOFF], 20 * MS);
		refused[refused_count - 1] = message->chunk;
		thrum_task_wait(task, timers[BACKOFF].task);
	}
	fill_window();
}

static void run_timers(void)
{
	for (struct timer *timer = timers; timer < timers + TIMERS; timer++) {
		if (!timer->due || timer->due > now())
			continue;
		timer->due = 0;
		THRUM_RUN (timer->task) {
			thrum_task_resolve(timer->task);
			timer->fire();
		}
	}
}

/* The store refuses some chunks at first, and syncs its disk after chunk 29. */
static void *run_store(void *data)
{
	int socket = *(int *)data;
	bool refused_before[CHUNKS] = {false};
	struct message message;

	while (read(socket, &message, sizeof(message)) == sizeof(message)) {
		int chunk = message.chunk;

		nanosleep(&(struct timespec){.tv_nsec = (chunk == 29 ? 60 : 1) * MS}, NULL);
		message.busy = (chunk == 5 || chunk == 13 || chunk == 28) && !refused_before[chunk];
		refused_before[chunk] |= message.busy;
		if (write(socket, &message, sizeof(message)) != sizeof(message))
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct message message;
	int sockets[2];
	pthread_t thread;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 2;
	store_socket = sockets[0];
	store = thrum_task_create(THRUM_KIND_HANDLE, "store");
	upload = thrum_task_create(THRUM_KIND_JOIN, "upload disk.img");
	thrum_task_should_resolve(upload);
	pthread_create(&thread, NULL, run_store, &sockets[1]);
	arm(&timers[DISK], MS);
	arm(&timers[PROGRESS], 30 * MS);
	while (accepted < CHUNKS) {
		struct pollfd poll_store = {.fd = store_socket, .events = POLLIN};

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&poll_store, 1, 1);
		thrum_resume();
		if (poll_store.revents &&
			read(store_socket, &message, sizeof(message)) == sizeof(message))
			on_reply(&message);
		run_timers();
	}
	thrum_task_resolve(upload);
	thrum_stop();
	return 0;
}
