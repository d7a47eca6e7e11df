/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: mosquitto #110 ("Send queue is not processed after a client reconnect"). After a reconnection,
 *     messages_reconnect_reset counts all messages as in flight, also those that are only queued. So the count
 *     is far above the maximum; the acknowledgements of those that were sent again don't bring it below, and on_puback
 *     never signals the condition "in-flight window" again. All publications that wait for it hang for ever, and
 *     so does all that comes later.
 *   culprit: in-flight window|on_puback|messages_reconnect_reset
 *   victim: main\b|session|publish
 * case: healthy
 *   args: healthy
 *   run: self kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A sensor that publishes measurements to a broker, and reconnects when the network comes back. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MEASUREMENTS 80
#define MAX_INFLIGHT 4

struct message {
	unsigned number;
	bool in_flight;
	bool on_the_wire; /* the broker got it and will acknowledge it */
	struct thrum_resolver *puback;
	struct message *next;
};

struct client {
	struct thrum_loop *loop;
	struct thrum_condition *window;
	struct message *messages; /* not acknowledged yet, the oldest first */
	unsigned inflight;
	bool connected;
	unsigned acknowledged;
	unsigned pings;
};

static bool fixed;
static struct client client;

static void send_publish(struct message *message)
{
	message->on_the_wire = client.connected;
}

static struct thrum_promise *publish_now(struct message *message)
{
	struct thrum_promise *puback;

	message->in_flight = true;
	client.inflight++;
	puback = thrum_promise_wait(client.loop, "puback", &message->puback);
	send_publish(message);
	return puback;
}

/* Goes on when there is room in the window. */
static struct thrum_promise *window_opened(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message = data;

	(void)loop;
	(void)value;
	if (client.inflight < MAX_INFLIGHT)
		return publish_now(message);
	return thrum_promise_bind(thrum_condition_wait(client.window, NULL), window_opened, message,
		NULL);
}

static struct thrum_promise *publish(unsigned number)
{
	struct message *message = calloc(1, sizeof(*message));
	struct message **end;
	struct thrum_promise *done;

	message->number = number;
	for (end = &client.messages; *end; end = &(*end)->next)
		continue;
	*end = message;
	done = window_opened(client.loop, NULL, message);
	return thrum_promise_should_resolve(thrum_promise_labelf(done, "publish %u", number));
}

static void on_puback(struct message *message)
{
	struct message **at;
	struct thrum_resolver *puback = message->puback;

	for (at = &client.messages; *at != message; at = &(*at)->next)
		continue;
	*at = message->next;
	client.inflight--;
	client.acknowledged++;
	free(message);
	thrum_resolver_resolve(puback, thrum_value_none());
	if (client.inflight < MAX_INFLIGHT)
		thrum_condition_signal(client.window, thrum_value_none());
}

/* The network: the broker acknowledges the oldest message that it has got. */
static void on_network(uv_timer_t *timer)
{
	struct message *message;

	(void)timer;
	if (!client.connected)
		return;
	for (message = client.messages; message; message = message->next) {
		if (message->on_the_wire) {
			on_puback(message);
			return;
		}
	}
}

/* After a reconnection, what was in flight is sent again. */
static void messages_reconnect_reset(void)
{
	struct message *message;

	client.inflight = 0;
	for (message = client.messages; message; message = message->next) {
		if (fixed && !message->in_flight)
			continue;
		client.inflight++;
		if (message->in_flight)
			send_publish(message);
	}
}

static struct thrum_promise *reconnected(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	client.connected = true;
	messages_reconnect_reset();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *connection_lost(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message;

	(void)value;
	(void)data;
	client.connected = false;
	for (message = client.messages; message; message = message->next)
		message->on_the_wire = false;
	return thrum_promise_bind(thrum_sleep(loop, 250), reconnected, NULL, NULL);
}

static void on_ping(uv_timer_t *timer)
{
	(void)timer;
	if (client.connected)
		client.pings++;
}

/* Takes a measurement every 12 ms, and publishes it. */
struct session {
	unsigned number;
	struct thrum_promise *published[MEASUREMENTS];
};

static struct thrum_promise *measure(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	if (session->number == MEASUREMENTS)
		return thrum_promise_join(loop, session->published, MEASUREMENTS);
	session->published[session->number] = publish(session->number);
	session->number++;
	return thrum_promise_bind(thrum_sleep(loop, 12), measure, session, NULL);
}

int main(int argc, char **argv)
{
	static struct session session;
	struct thrum_promise *network, *done;
	uv_timer_t wire, ping;
	uv_loop_t uv;
	int error;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		fprintf(stderr, "nothing is recorded\n");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &client.loop))
		return 1;
	client.window = thrum_condition_create(client.loop, "in-flight window");
	client.connected = true;
	uv_timer_init(&uv, &wire);
	uv_timer_start(&wire, on_network, 7, 7);
	uv_timer_init(&uv, &ping);
	uv_timer_start(&ping, on_ping, 100, 100);
	network = thrum_promise_bind(thrum_sleep(client.loop, 400), connection_lost, NULL, NULL);
	thrum_promise_ignore_result(network);
	done = thrum_promise_bind(thrum_sleep(client.loop, 1), measure, &session, NULL);
	thrum_promise_label(done, "session");
	error = thrum_promise_run(done);
	thrum_stop();
	printf("%u acknowledged, %u pings: %s\n", client.acknowledged, client.pings,
		thrum_promise_error_message(error));
	thrum_condition_destroy(client.window);
	thrum_loop_destroy(client.loop);
	return error != 0;
}
