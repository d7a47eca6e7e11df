/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1300
 *   ask: why
 *   truth: Turning the scope off cancels its children, "sender" among them, and calls its hook "flush outbox", which
 *     closes "outbox" and waits until the sender has sent the rest and signals "all sent". The sender is cancelled, so
 *     the hook, and with it "shut down", never ends.
 *   culprit: all sent|flush|sender
 *   victim: shut down
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An agent that samples sensors and sends the samples in batches; after a while it shuts down. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SAMPLES 20

struct agent {
	struct thrum_switch *scope;
	struct thrum_stream *outbox;
	struct thrum_condition *all_sent;
	int sampled, sent;
	int numbers[SAMPLES];
};

static bool broken;

/* ---- Sends what is in the outbox ---- */

static struct thrum_promise *send_next(struct agent *agent);

static struct thrum_promise *batch_sent(struct thrum_loop *loop, void *value, void *data)
{
	struct agent *agent = data;

	(void)loop;
	(void)value;
	agent->sent++;
	return send_next(agent);
}

static struct thrum_promise *send_batch(struct thrum_loop *loop, void *value, void *data)
{
	struct agent *agent = data;
	struct thrum_promise *post;

	if (!value) {
		thrum_condition_broadcast(agent->all_sent, thrum_value_none());
		return thrum_promise_return(loop, thrum_value_none());
	}
	post = thrum_sleep(loop, 12);
	thrum_promise_labelf(post, "POST /samples/%d", *(int *)value);
	return thrum_promise_bind(post, batch_sent, agent, NULL);
}

static struct thrum_promise *send_next(struct agent *agent)
{
	return thrum_promise_bind(thrum_stream_next(agent->outbox), send_batch, agent, NULL);
}

/* ---- Samples ---- */

static struct thrum_promise *sample_next(struct thrum_loop *loop, struct agent *agent);

static struct thrum_promise *sample_stored(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return sample_next(loop, data);
}

static struct thrum_promise *sample(struct thrum_loop *loop, void *value, void *data)
{
	struct agent *agent = data;
	int *number = &agent->numbers[agent->sampled];

	(void)loop;
	(void)value;
	*number = agent->sampled++;
	return thrum_promise_bind(thrum_stream_push(agent->outbox, thrum_value_static(number)),
		sample_stored, agent, NULL);
}

static struct thrum_promise *sample_next(struct thrum_loop *loop, struct agent *agent)
{
	if (agent->sampled == SAMPLES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 4), sample, agent, NULL);
}

/* ---- Shuts down ---- */

/* A hook of the scope: ends when all samples are sent. */
static struct thrum_promise *flush_outbox(struct thrum_loop *loop, void *data)
{
	struct agent *agent = data;
	struct thrum_promise *flushed = thrum_condition_wait(agent->all_sent, NULL);

	(void)loop;
	thrum_stream_close(agent->outbox);
	return thrum_promise_label(flushed, "flush outbox");
}

static struct thrum_promise *shut_down(struct thrum_loop *loop, void *value, void *data)
{
	struct agent *agent = data;

	(void)loop;
	(void)value;
	return thrum_switch_off(agent->scope);
}

/* Reads the configuration again whenever the administrator asks for it. */
static void watch_hangup(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_promise_on_success(thrum_promise_label(thrum_signal_wait(loop, SIGHUP), "reload"),
		watch_hangup, NULL, NULL);
}

int main(int argc, char **argv)
{
	static struct agent agent;
	struct thrum_loop *loop;
	struct thrum_promise *end, *sender;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	agent.outbox = thrum_stream_create(loop, "outbox", SAMPLES);
	agent.all_sent = thrum_condition_create(loop, "all sent");
	agent.scope = thrum_switch_create(loop, "agent");
	watch_hangup(loop, NULL, NULL);

	thrum_switch_add_hook(agent.scope, flush_outbox, &agent, NULL);
	sender = thrum_promise_label(send_next(&agent), "sender");
	if (broken)
		thrum_switch_add(agent.scope, sender);
	else
		thrum_promise_ignore_result(sender);
	end = thrum_promise_label(sample_next(loop, &agent), "sampler");
	end = thrum_promise_bind(end, shut_down, &agent, NULL);
	thrum_promise_label(thrum_promise_should_resolve(end), "shut down");
	if (thrum_promise_run(end))
		return 1;
	thrum_stop();
	printf("sent %d of %d samples\n", agent.sent, agent.sampled);
	return 0;
}
