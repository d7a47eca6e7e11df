/* SPDX-License-Identifier: ISC */
/*
 * guest RING: what runs in the guest of tools/test-xen. A child process records under load, and
 * publishes that. This process does what dom0 writes to data/test/command, and answers by writing the
 * same to data/test/done:
 *
 *   "N restart"   kills the child by SIGKILL and starts the next one
 *   "N stop"      lets the child stop recording in order
 *   "N mirage"    kills the child and starts one that publishes the file RING, a ring of mirage-profile
 *   "N kill"      kills the child
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <thrum/xen.h>
#include <unistd.h>
#include <xengnttab.h>
#include <xenstore.h>

#define THREADS 2
#define PAGE 4096

static unsigned generation;
static volatile sig_atomic_t is_told_to_stop;

static void fail(const char *message)
{
	fprintf(stderr, "guest: %s\n", message);
	exit(1);
}

/* ---- The child that records ----------------------------------------------------------------- */

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

/* Serves requests one after the other. Each waits for an answer. */
static void *serve(void *unused)
{
	static _Atomic unsigned number;

	(void)unused;
	while (!is_told_to_stop) {
		unsigned n = ++number;
		thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "request %u/%u",
			generation, n);
		thrum_task answer = thrum_task_createf(THRUM_KIND_PROMISE, "answer %u", n);

		thrum_task_should_resolve(request);
		thrum_task_wait(request, answer);
		/* The answer to one request is forgotten. */
		if (n == 50)
			continue;
		sleep_ms(10);
		thrum_task_resolve(answer);
		thrum_task_read(request, answer);
		thrum_task_resolve(request);
	}
	return NULL;
}

static void stop(int number)
{
	(void)number;
	is_told_to_stop = 1;
}

static void record(void)
{
	pthread_t threads[THREADS];
	int error;

	signal(SIGTERM, stop);
	error = thrum_xen_start(512 * 1024, 0);
	if (error)
		fail(thrum_error_message(error));
	if (thrum_xen_start(0, 0) != -THRUM_E_ARGUMENT)
		fail("a second start isn't refused");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_xen_stop();
	exit(0);
}

/* ---- The child that publishes a ring of mirage-profile --------------------------------------- */

static void publish_ring(const char *name)
{
	FILE *file = fopen(name, "rb");
	xengntshr_handle *sharing = xengntshr_open(NULL, 0);
	struct xs_handle *store = xs_open(0);
	uint32_t references[64], pages = 0;
	char list[64 * 11] = "";

	if (!file || !sharing || !store)
		fail("the ring can't be published");
	while (fgetc(file) != EOF && fseek(file, PAGE - 1, SEEK_CUR) == 0)
		pages++;
	rewind(file);
	char *ring = xengntshr_share_pages(sharing, 0, (int)pages, references, 0);

	if (!ring || fread(ring, PAGE, pages, file) != pages)
		fail("the ring can't be shared");
	for (uint32_t i = 0; i < pages; i++)
		sprintf(list + strlen(list), "%s%u", i ? "," : "", references[i]);
	xs_rm(store, XBT_NULL, "data/mprof/format");
	xs_write(store, XBT_NULL, "data/mprof/ring-ref", list, (unsigned)strlen(list));
	for (;;)
		pause();
}

/* ---- The process that obeys dom0 ------------------------------------------------------------- */

static pid_t start_child(const char *ring)
{
	pid_t child = fork();

	if (child == 0 && ring)
		publish_ring(ring);
	else if (child == 0)
		record();
	return child;
}

static pid_t obey(const char *word, pid_t child, const char *ring)
{
	if (child > 0) {
		kill(child, strcmp(word, "stop") == 0 ? SIGTERM : SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (strcmp(word, "restart") == 0) {
		generation++;
		return start_child(NULL);
	}
	return strcmp(word, "mirage") == 0 ? start_child(ring) : 0;
}

int main(int argc, char **argv)
{
	struct xs_handle *store = xs_open(0);
	char done[64] = "";
	pid_t child;

	if (argc != 2 || !store)
		fail("no xenstore");
	generation = 1;
	child = start_child(NULL);
	for (;;) {
		unsigned size;
		char *command = xs_read(store, XBT_NULL, "data/test/command", &size);

		if (command && strcmp(command, done) != 0 && strchr(command, ' ')) {
			snprintf(done, sizeof done, "%s", command);
			child = obey(strchr(command, ' ') + 1, child, argv[1]);
			xs_write(store, XBT_NULL, "data/test/done", done, (unsigned)strlen(done));
		}
		free(command);
		sleep_ms(50);
	}
}
