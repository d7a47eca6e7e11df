/* SPDX-License-Identifier: ISC */
/*
 * arp: two hosts on a wire. One asks who has 10.0.0.2 (ARP), connects to that host, says hello and
 * waits for the echo (TCP). Sometimes it hangs; doc/tutorial.md finds out why.
 *
 *   thrum record -o arp.thrum -- arp --bug --seed 1
 *   thrum render arp.thrum -o arp.svg
 *
 * wire.c is the wire, arp.c has the bug and its two fixes, tcp.c is the conversation. Except for
 * some labels nothing in them serves the recording: promises record their own lives.
 */
#include "stack.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_MS 1000
#define SERVER_IP 2

/* ---- The server, which sends back each text -------------------------------------------------- */

static struct thrum_promise *echo(struct thrum_loop *loop, void *data);

static struct thrum_promise *echo_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return echo(loop, data);
}

static struct thrum_promise *echo_text(struct thrum_loop *loop, void *text, void *data)
{
	(void)loop;
	if (!text)
		return tcp_close(data);
	return thrum_promise_bind(tcp_send(data, text), echo_again, data, NULL);
}

static struct thrum_promise *echo(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_promise_bind(tcp_receive(data), echo_text, data, NULL);
}

static struct host server = {.end = 1, .mac = 0x0b, .ip = SERVER_IP};

static void serve(struct connection *connection)
{
	thrum_promise_async(server.loop, "echo server", echo, connection, NULL);
}

/* ---- The client ------------------------------------------------------------------------------ */

static struct thrum_value done(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	printf("arp: done in %u ms\n", wire_now(server.wire));
	return thrum_value_none();
}

static struct thrum_promise *then_close(struct thrum_loop *loop, void *text, void *connection)
{
	(void)loop;
	printf("arp: the echo is \"%s\"\n", text ? (char *)text : "");
	return thrum_promise_map(tcp_close(connection), done, NULL, NULL);
}

static struct thrum_promise *then_listen(struct thrum_loop *loop, void *value, void *connection)
{
	(void)loop, (void)value;
	return thrum_promise_bind(tcp_receive(connection), then_close, connection, NULL);
}

static struct thrum_promise *then_say_hello(struct thrum_loop *loop, void *connection, void *data)
{
	(void)loop, (void)data;
	return thrum_promise_bind(tcp_send(connection, "hello"), then_listen, connection, NULL);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* A real program would go on with something else. This one stops after a second. */
static void out_of_patience(uv_timer_t *patience)
{
	uv_close((uv_handle_t *)patience, NULL);
}

/* Runs the main work. Returns -EDEADLK if nothing is left that could end it. */
static int run(struct thrum_promise *work)
{
	uv_timer_t patience;
	int status;

	thrum_promise_should_resolve(thrum_promise_label(work, "main"));
	uv_timer_init(thrum_loop_uv(server.loop), &patience);
	uv_timer_start(&patience, out_of_patience, PATIENCE_MS, 0);
	status = thrum_promise_run(work);
	/* Promises that are still pending will stay so. Tidying up would end them, and the
	 * recording would no longer show that. */
	thrum_stop();
	if (!uv_is_closing((uv_handle_t *)&patience)) {
		uv_close((uv_handle_t *)&patience, NULL);
		uv_run(thrum_loop_uv(server.loop), UV_RUN_NOWAIT);
	}
	return status;
}

static int play(struct thrum_loop *loop, enum arp_way way, unsigned seed)
{
	struct wire *wire = wire_create(loop, seed);
	struct host client = {.end = 0, .mac = 0x0a, .ip = 1, .way = way};
	struct thrum_promise *work;
	int status;

	if (!wire)
		return -ENOMEM;
	client.loop = server.loop = loop;
	client.wire = server.wire = wire;
	server.way = way;
	server.accept = serve;
	host_start(&client);
	host_start(&server);

	work = thrum_promise_bind(tcp_connect(&client, SERVER_IP), then_say_hello, NULL, NULL);
	status = run(work);
	if (status == -EDEADLK)
		fprintf(stderr, "arp: giving up: main is still waiting\n");
	else if (status)
		fprintf(stderr, "arp: %s\n", thrum_promise_error_message(status));
	host_finish(&client);
	host_finish(&server);
	wire_destroy(wire);
	return status;
}

static void usage(void)
{
	fputs("usage: arp [--bug | --fixed-order | --fixed-promise] [--seed N]\n"
	      "  --bug            send the request, then wait for the reply (default)\n"
	      "  --fixed-order    begin to wait, then send the request\n"
	      "  --fixed-promise  wait for a promise, which remembers the reply\n"
	      "  --seed N         choose how long everything takes on the wire (default: 1)\n",
		stderr);
	exit(64);
}

int main(int count, char **arguments)
{
	static const struct option known[] = {
		{"bug", no_argument, NULL, ARP_BUG},
		{"fixed-order", no_argument, NULL, ARP_FIXED_ORDER},
		{"fixed-promise", no_argument, NULL, ARP_FIXED_PROMISE},
		{"seed", required_argument, NULL, 's'},
		{0},
	};
	enum arp_way way = ARP_BUG;
	unsigned seed = 1;
	uv_loop_t uv;
	struct thrum_loop *loop;
	int option, status;

	while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
		if (option == 's')
			seed = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == '?')
			usage();
		else
			way = (enum arp_way)option;
	}
	if (optind < count)
		usage();

	if (uv_loop_init(&uv))
		return 2;
	status = thrum_loop_create(&uv, &loop);
	if (status == 0) {
		status = play(loop, way, seed);
		thrum_loop_destroy(loop);
		uv_run(&uv, UV_RUN_DEFAULT);
	}
	uv_loop_close(&uv);
	return status == 0 ? 0 : 1;
}
