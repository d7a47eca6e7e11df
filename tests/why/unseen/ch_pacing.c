/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: mqvpn pull request #118 ("only shorten next_timer_ms in get_interest timers"): next_timer_ms is
 *     0 when the pacer wants its tick at once. The block for the stability of a path should only shorten
 *     it, but the broken program takes 0 for "no timer" there, and puts the 45 ms of the path's trial in
 *     its place. So from the validation of the path on each "tick" takes about 45 ms in the place of 1 or
 *     2, and "send burst" and "stream" wait for it.
 *   culprit: tick
 *   victim: send burst|stream
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The client of a tunnel over several paths, on promises. Streams send bursts, and a pacer puts time
 * between them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define STREAMS 4
#define BURSTS 60
#define TRIAL_MS 45

struct stream {
	unsigned number;
	unsigned bursts; /* sent */
};

static struct {
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_semaphore *socket;
	bool path_stable_since; /* whether a path is on trial */
	bool shortens;
	unsigned sent, acknowledged;
} client;

/* ---- timers ---- */

/* When the next tick must come; 0: at once. */
static unsigned next_timer_ms(unsigned pacing_ms)
{
	unsigned ms = pacing_ms;

	if (client.path_stable_since) {
		if (client.shortens) {
			if (ms > TRIAL_MS)
				ms = TRIAL_MS;
		} else if (ms == 0 || ms > TRIAL_MS) {
			ms = TRIAL_MS;
		}
	}
	return ms;
}

static struct thrum_promise *tick(struct thrum_loop *loop, unsigned pacing_ms)
{
	unsigned ms = next_timer_ms(pacing_ms);

	return thrum_promise_label(thrum_sleep(loop, ms ? ms : 1), "tick");
}

/* ---- streams ---- */

static struct thrum_promise *on_acknowledged(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	client.acknowledged++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *write_burst(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *answer = thrum_promise_label(thrum_sleep(loop, 2), "acknowledgement");

	client.sent++;
	return thrum_promise_bind(answer, on_acknowledged, data, NULL);
}

static struct thrum_promise *on_tick(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)loop;
	return thrum_semaphore_with(client.socket, write_burst, data, NULL);
}

static struct thrum_promise *send_burst(struct thrum_loop *loop, struct stream *stream)
{
	struct thrum_promise *sent;

	/* Each fourth burst is small, and needs a pause of 2 ms before it. */
	sent = thrum_promise_bind(tick(loop, stream->bursts % 4 ? 0 : 2), on_tick, stream, NULL);
	return thrum_promise_should_resolve(thrum_promise_label(sent, "send burst"));
}

static struct thrum_promise *next_burst(struct thrum_loop *loop, void *value, void *data)
{
	struct stream *stream = data;

	(void)value;
	if (stream->bursts == BURSTS)
		return thrum_promise_return(loop, thrum_value_none());
	stream->bursts++;
	return thrum_promise_bind(send_burst(loop, stream), next_burst, stream, NULL);
}

/* ---- paths ---- */

static struct thrum_promise *on_validated(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	client.path_stable_since = true;
	return thrum_promise_return(loop, thrum_value_none());
}

/* The second path is validated after 80 ms, and then on trial. */
static struct thrum_promise *validate_path(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 80), on_validated, data, NULL);
}

int main(int argc, char **argv)
{
	static struct stream streams[STREAMS];
	struct thrum_promise *all[STREAMS];
	int code;
	unsigned i;

	if (argc < 2)
		return 2;
	client.shortens = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&client.uv);
	if (thrum_loop_create(&client.uv, &client.loop))
		return 1;
	client.socket = thrum_semaphore_create(client.loop, "socket", 3);
	thrum_promise_async(client.loop, "validate path", validate_path, NULL, NULL);
	for (i = 0; i < STREAMS; i++) {
		streams[i].number = i + 1;
		all[i] = thrum_promise_labelf(next_burst(client.loop, NULL, &streams[i]),
			"stream %u", i + 1);
	}
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(client.loop, all, STREAMS), "main"));
	thrum_stop();
	printf("%u sent, %u acknowledged, %d\n", client.sent, client.acknowledged, code);
	return code != 0;
}
