/* SPDX-License-Identifier: ISC */
/*
 * http: a small HTTP/1.1 server and the clients that use it, on promises.
 *
 *   thrum record -o http.thrum -- http --threads 3 --seconds 2
 *   thrum render http.thrum -o http.svg --duration=20ms
 *
 * It does the same as examples/server/, which uses libuv's callbacks and is annotated by hand. Here
 * promises record their own lives. From thrum.h it uses only labels, counters, and links between
 * the two sides of a request.
 *
 * message.c is HTTP on a connection, server.c the server, database.c its database, clients.c the
 * clients. This file has threads, loops and options.
 */
#include "http.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GRACE_MS 500 /* for the last replies, when the time is up */

struct options options = {.seconds = 1, .clients = 8, .threads = 1, .rest = 4};
struct thrum_counter *connections_open, *requests_served, *bytes_sent, *latency_us;

static void must(int status, const char *what)
{
	if (status < 0) {
		fprintf(stderr, "http: %s: %s\n", what, thrum_promise_error_message(status));
		exit(2);
	}
}

/* ---- A thread -------------------------------------------------------------------------------- */

/* Ends the clients after their next reply. A client that still waits for one after this waits in
 * vain. */
static struct thrum_promise *time_is_up(struct thrum_loop *loop, void *value, void *data)
{
	struct worker *worker = data;

	(void)value;
	if (options.die)
		raise(SIGKILL);
	worker->draining = true;
	return thrum_sleep(loop, GRACE_MS);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void serve_until_done(struct worker *worker)
{
	struct thrum_promise *clients = clients_run(worker);
	struct thrum_promise *either[] = {
		thrum_promise_ref(clients),
		thrum_promise_bind(thrum_sleep(worker->loop, options.seconds * UINT64_C(1000)),
			time_is_up, worker, NULL),
	};
	int status = thrum_promise_run(thrum_promise_choose(worker->loop, either, 2));

	if (status < 0)
		fprintf(stderr, "http: %s\n", thrum_promise_error_message(status));
	if (options.die)
		raise(SIGKILL);
	/* Promises that are still pending will stay so. Tidying up would end them, and the
	 * recording would no longer show that. */
	if (worker->draining)
		thrum_stop();
	thrum_promise_cancel(clients);
	thrum_promise_unref(clients);
	must(thrum_promise_run(server_stop(worker)), "stopping");
}

static void worker_run(void *argument)
{
	struct worker *worker = argument;
	uint64_t began = thread_cpu_ns();
	char name[16];

	snprintf(name, sizeof name, "loop %u", worker->number);
	thrum_lane_name(name);
	must(uv_loop_init(&worker->uv), "loop");
	must(thrum_loop_create(&worker->uv, &worker->loop), "loop");
	must(server_start(worker), "server");
	serve_until_done(worker);
	database_finish(worker);
	thrum_switch_destroy(worker->connections);
	thrum_loop_destroy(worker->loop);
	uv_run(&worker->uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&worker->uv), "closing the loop");
	free(worker->clients);
	worker->cpu_ns = thread_cpu_ns() - began;
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: http [--seconds N] [--requests N] [--clients N] [--threads N] [--rest MS]\n"
	      "            [--hang] [--die]\n"
	      "  --seconds N   stop after N seconds (default: 1)\n"
	      "  --requests N  stop after N requests of each client (default: 0, no limit)\n"
	      "  --clients N   run N clients in each thread (default: 8)\n"
	      "  --threads N   run N threads, each with a loop and a server (default: 1)\n"
	      "  --rest MS     let clients rest for at most MS milliseconds (default: 4)\n"
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
		{"rest", required_argument, NULL, 'e'},
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
		case 'e': options.rest = number(optarg, 0, 1000); break;
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
	uint64_t cpu_ns = 0;

	parse_options(count, arguments);
	connections_open = thrum_counter_create("http/connections", THRUM_COUNTER_GAUGE);
	requests_served = thrum_counter_create("http/requests", THRUM_COUNTER_CUMULATIVE);
	bytes_sent = thrum_counter_create("http/bytes", THRUM_COUNTER_CUMULATIVE);
	latency_us = thrum_counter_create("http/latency-us", THRUM_COUNTER_DISTRIBUTION);

	workers = calloc(options.threads, sizeof *workers);
	must(workers ? 0 : UV_ENOMEM, "workers");
	for (unsigned i = 0; i < options.threads; i++) {
		workers[i].number = i;
		must(uv_thread_create(&workers[i].thread, worker_run, &workers[i]), "thread");
	}
	for (unsigned i = 0; i < options.threads; i++) {
		uv_thread_join(&workers[i].thread);
		answered += workers[i].answered;
		cpu_ns += workers[i].cpu_ns;
	}
	free(workers);
	printf("http: answered %lu requests, %.1f us of CPU each\n", answered,
		answered ? (double)cpu_ns / 1000.0 / (double)answered : 0.0);
	return 0;
}
