/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: link_on_ack stops the resend timer of whatever message is the oldest one on the link, not of the one that was
 *     acknowledged. When an acknowledgement comes out of order, the message that was lost on the air is never sent again.
 *   culprit: link_on_ack|resend
 *   victim: main\b|mission upload|waypoints
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A ground station uploads waypoints to a drone over a lossy radio. A message is sent again until it is acknowledged. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	WAYPOINTS = 8,
	MAX_AIR = 64,
	RESEND_MS = 80,
	WINDOW = 3
};

struct message {
	int number;
	thrum_task request, timer;
	long resend_at; /* 0: the timer is stopped */
	bool acknowledged;
	int sendings;
};

/* Something on the air: a message on its way there, or an acknowledgement on its way back. */
struct frame {
	long arrives;
	int number;
	bool is_ack;
};

struct link {
	struct message messages[WAYPOINTS];
	int sent;
	struct frame air[MAX_AIR];
	int on_air;
};

static bool broken;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void air_put(struct link *link, int number, bool is_ack, long delay)
{
	struct frame *frame = &link->air[link->on_air++];

	frame->arrives = now_ms() + delay;
	frame->number = number;
	frame->is_ack = is_ack;
}

/* Below the hill the radio loses a message now and then. */
static bool air_loses(const struct message *message)
{
	return message->number == 3 && message->sendings == 1;
}

static void timer_start(struct message *message)
{
	message->timer = thrum_task_createf(THRUM_KIND_TIMER, "resend %d", message->number);
	thrum_task_due(message->timer, RESEND_MS * 1000000LL);
	message->resend_at = now_ms() + RESEND_MS;
}

static void timer_stop(struct message *message)
{
	if (message->resend_at == 0)
		return;
	message->resend_at = 0;
	thrum_task_cancel(message->timer);
}

static void link_transmit(struct link *link, struct message *message)
{
	message->sendings++;
	timer_start(message);
	if (!air_loses(message))
		air_put(link, message->number, false, 10);
}

static void link_send(struct link *link, int number)
{
	struct message *message = &link->messages[number];

	message->number = number;
	message->request = thrum_task_createf(THRUM_KIND_REQUEST, "waypoint %d", number);
	thrum_task_should_resolve(message->request);
	link->sent++;
	THRUM_RUN (message->request)
		link_transmit(link, message);
}

static struct message *link_oldest(struct link *link)
{
	for (int i = 0; i < link->sent; i++)
		if (!link->messages[i].acknowledged)
			return &link->messages[i];
	return NULL;
}

static void link_on_ack(struct link *link, int number)
{
	struct message *message = &link->messages[number];

	if (message->acknowledged)
		return;
	THRUM_RUN (message->request) {
		timer_stop(broken ? link_oldest(link) : message);
		message->acknowledged = true;
		thrum_task_resolve(message->request);
	}
}

static void link_on_timer(struct link *link, struct message *message)
{
	message->resend_at = 0;
	thrum_task_resolve(message->timer);
	if (message->acknowledged)
		return;
	THRUM_RUN (message->request)
		link_transmit(link, message);
}

static void link_poll(struct link *link)
{
	for (int i = 0; i < link->on_air; i++) {
		struct frame frame = link->air[i];

		if (frame.arrives > now_ms())
			continue;
		link->air[i--] = link->air[--link->on_air];
		if (frame.is_ack)
			link_on_ack(link, frame.number);
		else
			air_put(link, frame.number, true, 10);
	}
	for (int i = 0; i < link->sent; i++)
		if (link->messages[i].resend_at && link->messages[i].resend_at <= now_ms())
			link_on_timer(link, &link->messages[i]);
}

static int link_unacknowledged(const struct link *link)
{
	int count = 0;

	for (int i = 0; i < link->sent; i++)
		count += !link->messages[i].acknowledged;
	return count;
}

static void upload_finish(struct link *link, thrum_task upload)
{
	for (int i = 0; i < WAYPOINTS; i++)
		thrum_task_read(upload, link->messages[i].request);
	thrum_task_resolve(upload);
}

int main(int argc, char **argv)
{
	static struct link link;
	struct timespec tick = {0, 2000000};
	thrum_task upload, position = THRUM_TASK_NONE;
	long next_position, next_message;
	int positions = 0;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	thrum_lane_name("ground station");
	upload = thrum_task_create(THRUM_KIND_JOIN, "mission upload");
	thrum_task_should_resolve(upload);
	next_position = next_message = now_ms();
	while (link.sent < WAYPOINTS || link_unacknowledged(&link) > 0) {
		if (link.sent < WAYPOINTS && link_unacknowledged(&link) < WINDOW &&
			next_message <= now_ms()) {
			int number = link.sent;

			THRUM_RUN (upload)
				link_send(&link, number);
			thrum_task_wait(upload, link.messages[number].request);
			next_message = now_ms() + 25;
		}
		link_poll(&link);
		if (next_position <= now_ms()) { /* the drone tells where it is */
			position = thrum_task_createf(THRUM_KIND_TASK, "position %d", positions++);
			THRUM_RUN (position)
				thrum_logf("altitude %d m", 40 + positions % 5);
			thrum_task_resolve(position);
			next_position = now_ms() + 50;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&tick, NULL);
		thrum_resume();
	}
	upload_finish(&link, upload);
	thrum_stop();
	printf("%d waypoints are up, %d positions\n", WAYPOINTS, positions);
	return 0;
}
