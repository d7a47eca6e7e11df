/* SPDX-License-Identifier: ISC */
/* port_promise: a caching proxy for a protocol of lines, with its origin and clients. It is
 * port_plain, ported to promises; doc/port.md compares the two. */
#include "port.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(int status, const char *what)
{
	if (status < 0) {
		fprintf(stderr, "port: %s: %s\n", what, thrum_promise_error_message(status));
		exit(2);
	}
}

static void run(struct port *port)
{
	must(uv_loop_init(&port->uv), "loop");
	must(thrum_loop_create(&port->uv, &port->loop), "loop");
	port->sessions = thrum_switch_create(port->loop, "sessions");
	port->asked = store_create();
	port->known = store_create();
	must(port->sessions && port->asked && port->known ? 0 : -ENOMEM, "memory");
	must(service_start(port, origin_serve, &port->origin_address), "origin");
	must(upstream_start(port), "upstream");
	must(service_start(port, proxy_serve, &port->proxy_address), "proxy");
	must(thrum_promise_run(load_run(port)), "clients");
	must(thrum_promise_run(thrum_switch_off(port->sessions)), "stopping");
	services_stop(port);
	upstream_stop(port);
	thrum_switch_destroy(port->sessions);
	thrum_loop_destroy(port->loop);
	uv_run(&port->uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&port->uv), "closing the loop");
	store_destroy(port->asked);
	store_destroy(port->known);
	free(port->clients);
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: port_promise [--clients N] [--requests N] [--keys N]\n"
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
