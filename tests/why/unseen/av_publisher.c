/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: schedule_retry calls uv_timer_again on a timer that was started with a repeat of 0, which does
 *     nothing; so after the second failed connect no further attempt comes, and the messages in the queue
 *     wait for ever
 *   culprit: schedule_retry|retry_timer|on_retry|uv_timer_again
 *   victim: main|on_connected|drain_queue
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A publisher of readings: keeps them in a queue until the broker answers, and connects again when it
 * fails. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	READINGS = 12
};

struct broker {
	uv_tcp_t listener, peer;
	uv_timer_t boot;
	size_t received;
};

struct publisher {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_timer_t sensor, retry_timer;
	uv_signal_t hangup;
	uv_write_t write;
	char queue[READINGS][16];
	int readings, sent, attempts;
	bool connected, writing, timer_used;
	uint64_t repeat;
	struct sockaddr_in address;
};

static struct broker broker;
static struct publisher publisher;

static void begin_connect(struct publisher *);

/* ---- The broker ------------------------------------------------------------------------------ */

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char bytes[4096];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(bytes, sizeof(bytes));
}

static void on_broker_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size > 0) {
		broker.received += (size_t)size;
		return;
	}
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&broker.listener, NULL);
	}
}

static void on_broker_connection(uv_stream_t *listener, int status)
{
	if (status)
		return;
	uv_tcp_init(listener->loop, &broker.peer);
	if (!uv_accept(listener, (uv_stream_t *)&broker.peer))
		uv_read_start((uv_stream_t *)&broker.peer, give_buffer, on_broker_read);
}

/* The broker needs a while until it listens. */
static void on_broker_booted(uv_timer_t *timer)
{
	if (uv_listen((uv_stream_t *)&broker.listener, 8, on_broker_connection))
		exit(1);
	uv_close((uv_handle_t *)timer, NULL);
}

/* ---- The publisher --------------------------------------------------------------------------- */

static void drain_queue(struct publisher *);

static void on_written(uv_write_t *request, int status)
{
	struct publisher *self = request->data;

	self->writing = false;
	if (status)
		exit(1);
	self->sent++;
	drain_queue(self);
}

static void drain_queue(struct publisher *self)
{
	uv_buf_t buffer;

	if (!self->connected || self->writing)
		return;
	if (self->sent == READINGS) {
		uv_close((uv_handle_t *)&self->tcp, NULL);
		uv_close((uv_handle_t *)&self->retry_timer, NULL);
		uv_close((uv_handle_t *)&self->hangup, NULL);
		return;
	}
	if (self->sent == self->readings)
		return;
	buffer = uv_buf_init(self->queue[self->sent], sizeof(self->queue[0]));
	self->write.data = self;
	self->writing = !uv_write(&self->write, (uv_stream_t *)&self->tcp, &buffer, 1, on_written);
}

static void publish(uv_timer_t *sensor)
{
	struct publisher *self = sensor->data;

	snprintf(self->queue[self->readings], sizeof(self->queue[0]), "%d.%d", 20 + self->readings,
		5);
	if (++self->readings == READINGS)
		uv_close((uv_handle_t *)sensor, NULL);
	drain_queue(self);
}

static void on_retry(uv_timer_t *timer)
{
	struct publisher *self = timer->data;

	if (self->repeat)
		uv_timer_stop(timer);
	begin_connect(self);
}

static __attribute__((noinline)) void schedule_retry(struct publisher *self)
{
	if (!self->timer_used) {
		uv_timer_start(&self->retry_timer, on_retry, 40, self->repeat);
		self->timer_used = true;
	} else {
		uv_timer_again(&self->retry_timer);
	}
}

static void on_failed_closed(uv_handle_t *handle)
{
	schedule_retry(handle->data);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct publisher *self = connect->data;

	if (status) {
		uv_close((uv_handle_t *)&self->tcp, on_failed_closed);
		return;
	}
	self->connected = true;
	drain_queue(self);
}

static void begin_connect(struct publisher *self)
{
	self->attempts++;
	uv_tcp_init(self->sensor.loop, &self->tcp);
	self->tcp.data = self;
	self->connect.data = self;
	if (uv_tcp_connect(&self->connect, &self->tcp, (struct sockaddr *)&self->address,
		    on_connected))
		exit(1);
}

static void on_hangup(uv_signal_t *handle, int number)
{
	(void)handle;
	fprintf(stderr, "signal %d: configuration read again\n", number);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	int size = sizeof(publisher.address);

	/* The broker has its address, but refuses connections until it listens. */
	uv_ip4_addr("127.0.0.1", 0, &publisher.address);
	uv_tcp_init(loop, &broker.listener);
	if (uv_tcp_bind(&broker.listener, (struct sockaddr *)&publisher.address, 0) ||
		uv_tcp_getsockname(&broker.listener, (struct sockaddr *)&publisher.address, &size))
		return 1;
	publisher.repeat = argc > 1 && !strcmp(argv[1], "broken") ? 0 : 40;
	uv_timer_init(loop, &broker.boot);
	uv_timer_start(&broker.boot, on_broker_booted, 150, 0);
	uv_timer_init(loop, &publisher.sensor);
	publisher.sensor.data = &publisher;
	uv_timer_start(&publisher.sensor, publish, 10, 25);
	uv_timer_init(loop, &publisher.retry_timer);
	publisher.retry_timer.data = &publisher;
	uv_signal_init(loop, &publisher.hangup);
	uv_signal_start(&publisher.hangup, on_hangup, SIGHUP);
	begin_connect(&publisher);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d readings sent at attempt %d, %zu bytes came\n", publisher.sent,
		publisher.attempts, broker.received);
	return publisher.sent == READINGS ? 0 : 1;
}
