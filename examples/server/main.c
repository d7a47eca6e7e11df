/* SPDX-License-Identifier: ISC */
/*
 * server: a small web server on libuv and the clients that use it, annotated by hand with thrum.h.
 *
 *   thrum record -o server.thrum -- server --threads 3 --seconds 2
 *   thrum dump server.thrum
 *
 * The annotations follow three rules.
 *  - Everything that others may wait for is a task: a connection, a request, a lookup, a timer, a
 *    lock. It is created where it begins, and resolved, failed or cancelled where it ends.
 *  - A callback runs for a task: THRUM_RUN (task) { … } says for which one.
 *  - A task that goes to sleep says what it waits for (wait). When it goes on, it says whose result
 *    it got (read).
 *
 * server.c and clients.c are the application. This file has threads, loops and options.
 */
#include "server.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define GRACE_MS 500 /* for the last replies, when the time is up */

struct options options = {.seconds = 1, .clients = 8, .threads = 1};
struct thrum_counter *connections_open, *requests_served, *bytes_sent, *latency_us;

void must(int status, const char *what)
{
	if (status < 0) {
		fprintf(stderr, "server: %s: %s\n", what, uv_strerror(status));
		exit(2);
	}
}

/* ---- A loop is suspended while it polls ------------------------------------------------------ */

static void before_poll(uv_prepare_t *prepare)
{
	struct worker *worker = prepare->data;

	worker->asleep = true;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
}

/* libuv calls back for sockets from within its poll phase, before its check handles run. */
void worker_awake(struct worker *worker)
{
	if (worker->asleep) {
		worker->asleep = false;
		thrum_resume();
	}
}

static void after_poll(uv_check_t *check)
{
	worker_awake(check->data);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

void worker_finish(struct worker *worker)
{
	if (options.die)
		raise(SIGKILL);
	thrum_task_signal(worker->all_done, 1);
	uv_close((uv_handle_t *)&worker->listener, NULL);
	uv_close((uv_handle_t *)&worker->before_poll, NULL);
	uv_close((uv_handle_t *)&worker->after_poll, NULL);
	uv_close((uv_handle_t *)&worker->deadline, NULL);
}

static void time_is_up(uv_timer_t *deadline)
{
	struct worker *worker = deadline->data;

	if (options.die)
		raise(SIGKILL);
	if (!worker->draining) {
		worker->draining = true;
		uv_timer_start(deadline, time_is_up, GRACE_MS, 0);
		return;
	}
	/* Tasks that are still pending will stay so. Tidying up would end them, and the recording
	 * would no longer show that. */
	thrum_stop();
	clients_hang_up(worker);
}

static void worker_start(struct worker *worker)
{
	uv_loop_t *loop = &worker->loop;

	must(uv_loop_init(loop), "loop");
	uv_prepare_init(loop, &worker->before_poll);
	uv_check_init(loop, &worker->after_poll);
	uv_timer_init(loop, &worker->deadline);
	worker->before_poll.data = worker->after_poll.data = worker->deadline.data = worker;
	uv_prepare_start(&worker->before_poll, before_poll);
	uv_check_start(&worker->after_poll, after_poll);
	uv_timer_start(&worker->deadline, time_is_up, options.seconds * UINT64_C(1000), 0);
}

static void worker_run(void *argument)
{
	struct worker *worker = argument;
	char name[16];

	snprintf(name, sizeof name, "loop %u", worker->number);
	thrum_lane_name(name);
	worker->all_done = thrum_task_create(THRUM_KIND_CONDITION, "clients done");
	worker_start(worker);
	server_start(worker);
	clients_start(worker);
	thrum_task_wait(thrum_task_current(), worker->all_done);
	uv_run(&worker->loop, UV_RUN_DEFAULT);
	must(uv_loop_close(&worker->loop), "closing the loop");
	free(worker->clients);
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: server [--seconds N] [--requests N] [--clients N] [--threads N] [--hang] [--die]\n"
	      "  --seconds N   stop after N seconds (default: 1)\n"
	      "  --requests N  stop after N requests of each client (default: 0, no limit)\n"
	      "  --clients N   run N clients in each thread (default: 8)\n"
	      "  --threads N   run N threads, each with a loop and a server (default: 1)\n"
	      "  --hang        plant a bug: a request that is never answered (needs 3 clients)\n"
	      "  --die         die of SIGKILL in the middle of the work\n",
		stderr);
	exit(64);
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value < least || value > most)
		usage();
	return (unsigned)value;
}

static void parse_options(int count, char **arguments)
{
	static const struct option known[] = {
		{"seconds", required_argument, NULL, 's'},
		{"requests", required_argument, NULL, 'r'},
		{"clients", required_argument, NULL, 'c'},
		{"threads", required_argument, NULL, 't'},
		{"hang", no_argument, NULL, 'h'},
		{"die", no_argument, NULL, 'd'},
		{0},
	};
	int option;

	while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
		switch (option) {
		case 's': options.seconds = number(optarg, 1, 3600); break;
		case 'r': options.requests = number(optarg, 0, 100000000); break;
		case 'c': options.clients = number(optarg, 1, 10000); break;
		case 't': options.threads = number(optarg, 1, 64); break;
		case 'h': options.hang = true; break;
		case 'd': options.die = true; break;
		default: usage();
		}
	}
	if (optind < count || (options.hang && options.clients < 3))
		usage();
}

int main(int count, char **arguments)
{
	struct worker *workers;
	unsigned long answered = 0;

	parse_options(count, arguments);
	connections_open = thrum_counter_create("server/connections", THRUM_COUNTER_GAUGE);
	requests_served = thrum_counter_create("server/requests", THRUM_COUNTER_CUMULATIVE);
	bytes_sent = thrum_counter_create("server/bytes", THRUM_COUNTER_CUMULATIVE);
	latency_us = thrum_counter_create("server/latency-us", THRUM_COUNTER_DISTRIBUTION);

	workers = calloc(options.threads, sizeof *workers);
	must(workers ? 0 : UV_ENOMEM, "workers");
	for (unsigned i = 0; i < options.threads; i++) {
		workers[i].number = i;
		must(uv_thread_create(&workers[i].thread, worker_run, &workers[i]), "thread");
	}
	for (unsigned i = 0; i < options.threads; i++) {
		uv_thread_join(&workers[i].thread);
		answered += workers[i].answered;
	}
	free(workers);
	printf("server: answered %lu requests\n", answered);
	return 0;
}
