/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: subscriber_step of "subscriber metrics" gives up at a message that it can't parse, and returns
 *     without closing its stream "inbox metrics"; the broker goes on pushing there until the stream is full,
 *     and then waits for ever, so the other subscribers get nothing either
 *   culprit: subscriber metrics|subscriber_step|subscriber_run|inbox metrics
 *   victim: publish [0-9]+|publisher|subscriber (audit|mail)|inbox (audit|mail)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A broker that copies each message to all subscribers, with a bounded stream for each of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SUBSCRIBERS 3
#define MESSAGES 30
#define WINDOW 4

struct subscriber {
	const char *name;
	unsigned pace; /* ms for each message */
	struct thrum_stream *inbox;
	int count;
	bool gone;
};

struct message {
	int number;
	char text[24];
};

static struct subscriber subscribers[SUBSCRIBERS] = {
	{.name = "audit", .pace = 2},
	{.name = "metrics", .pace = 1},
	{.name = "mail", .pace = 5},
};
static bool close_on_error;

static struct thrum_promise *subscriber_run(struct thrum_loop *loop, struct subscriber *self);

static struct thrum_promise *subscriber_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return subscriber_run(loop, data);
}

static struct thrum_promise *subscriber_step(struct thrum_loop *loop, void *value, void *data)
{
	struct subscriber *self = data;
	struct message *message = value;

	if (!message)
		return thrum_promise_return(loop, thrum_value_none());
	if (!strcmp(self->name, "metrics") && !strchr(message->text, '=')) {
		fprintf(stderr, "%s: bad sample “%s”, leaving\n", self->name, message->text);
		if (close_on_error) {
			self->gone = true;
			thrum_stream_close(self->inbox);
		}
		return thrum_promise_return(loop, thrum_value_none());
	}
	self->count++;
	return thrum_promise_bind(thrum_sleep(loop, self->pace), subscriber_more, self, NULL);
}

static struct thrum_promise *subscriber_run(struct thrum_loop *loop, struct subscriber *self)
{
	(void)loop;
	return thrum_promise_bind(thrum_stream_next(self->inbox), subscriber_step, self, NULL);
}

struct publisher {
	int next;
};

static struct message *message_new(int number)
{
	struct message *message = malloc(sizeof(*message));

	if (!message)
		abort();
	message->number = number;
	/* One of the programs that send logs a plain line. */
	snprintf(message->text, sizeof(message->text), number == 9 ? "restart" : "load=%d", number);
	return message;
}

/* A subscriber that left doesn't matter. */
static struct thrum_promise *push_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct subscriber *subscriber = data;

	if (failure->code == -EPIPE && subscriber->gone)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_fail_again(loop, failure);
}

static struct thrum_promise *publisher_run(struct thrum_loop *loop, struct publisher *self);

static struct thrum_promise *publisher_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return publisher_run(loop, data);
}

static struct thrum_promise *publisher_send(struct thrum_loop *loop, void *value, void *data)
{
	struct publisher *self = data;
	struct thrum_promise *pushes[SUBSCRIBERS], *sent;

	(void)value;
	for (int i = 0; i < SUBSCRIBERS; i++) {
		struct message *message = message_new(self->next);
		struct thrum_promise *push = thrum_stream_push(subscribers[i].inbox,
			thrum_value_own(message, free));

		pushes[i] = thrum_promise_catch(push, push_failed, &subscribers[i], NULL);
	}
	sent = thrum_promise_labelf(thrum_promise_join(loop, pushes, SUBSCRIBERS), "publish %d",
		self->next);
	self->next++;
	return thrum_promise_bind(sent, publisher_more, self, NULL);
}

static struct thrum_promise *publisher_run(struct thrum_loop *loop, struct publisher *self)
{
	if (self->next == MESSAGES) {
		for (int i = 0; i < SUBSCRIBERS; i++)
			thrum_stream_close(subscribers[i].inbox);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 3), publisher_send, self, NULL);
}

/* The broker also prints its statistics from time to time. */
static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "broker: %d %d %d\n", subscribers[0].count, subscribers[1].count,
		subscribers[2].count);
}

int main(int argc, char **argv)
{
	struct publisher publisher = {0};
	struct thrum_promise *all[SUBSCRIBERS + 1];
	struct thrum_loop *loop;
	char label[32];
	uv_timer_t statistics;
	uv_loop_t uv;
	int error;

	close_on_error = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &statistics);
	uv_timer_start(&statistics, on_statistics, 200, 200);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		snprintf(label, sizeof(label), "inbox %s", subscribers[i].name);
		subscribers[i].inbox = thrum_stream_create(loop, label, WINDOW);
		all[i] = thrum_promise_labelf(subscriber_run(loop, &subscribers[i]),
			"subscriber %s", subscribers[i].name);
	}
	all[SUBSCRIBERS] = thrum_promise_label(publisher_run(loop, &publisher), "publisher");
	all[SUBSCRIBERS] = thrum_promise_should_resolve(all[SUBSCRIBERS]);
	error = thrum_promise_run(thrum_promise_join(loop, all, SUBSCRIBERS + 1));
	thrum_stop();
	printf("%d %d %d\n", subscribers[0].count, subscribers[1].count, subscribers[2].count);
	for (int i = 0; i < SUBSCRIBERS; i++)
		thrum_stream_destroy(subscribers[i].inbox);
	uv_close((uv_handle_t *)&statistics, NULL);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
