/* SPDX-License-Identifier: ISC */
/* port_plain: a caching proxy for a protocol of lines, with its origin and clients. It is written
 * with libuv's callbacks and without thrum. port_promise is the same program, ported to promises;
 * doc/port.md compares the two. */
#include "port.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(int status, const char *what)
{
	if (status < 0) {
		fprintf(stderr, "port: %s: %s\n", what, uv_strerror(status));
		exit(2);
	}
}

void port_done(struct port *port)
{
	proxy_stop(port);
	upstream_stop(port);
	origin_stop(port);
}

static void run(struct port *port)
{
	must(uv_loop_init(&port->loop), "loop");
	must(origin_start(port), "origin");
	must(upstream_start(port), "upstream");
	must(proxy_start(port), "proxy");
	must(load_start(port), "clients");
	uv_run(&port->loop, UV_RUN_DEFAULT);
	load_stop(port);
	must(uv_loop_close(&port->loop), "closing the loop");
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: port_plain [--clients N] [--requests N] [--keys N]\n"
	      "  --clients N   run N clients (default: 8)\n"
	      "  --requests N  make each client send N requests (default: 100)\n"
	      "  --keys N      ask for N different keys (default: 64)\n",
		stderr);
	exit(64);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value < 1 || value > 10000000)
		usage();
	return (unsigned)value;
}

int main(int count, char **arguments)
{
	static const struct option known[] = {
		{"clients", required_argument, NULL, 'c'},
		{"requests", required_argument, NULL, 'r'},
		{"keys", required_argument, NULL, 'k'},
		{0},
	};
	struct port port = {.options = {.clients = 8, .requests = 100, .keys = 64}};
	struct timespec cpu;
	int option;

	while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
		switch (option) {
		case 'c': port.options.clients = number(optarg); break;
		case 'r': port.options.requests = number(optarg); break;
		case 'k': port.options.keys = number(optarg); break;
		default: usage();
		}
	}
	if (optind < count)
		usage();
	run(&port);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	printf("port: %lu replies, %lu wrong, %lu lookups, %lu hits, %lu retries\n", port.replies,
		port.wrong, port.lookups, port.hits, port.retries);
	printf("cpu: %.2f us each\n",
		((double)cpu.tv_sec * 1e6 + (double)cpu.tv_nsec / 1e3) / (double)port.replies);
	return port.wrong ? 1 : 0;
}
