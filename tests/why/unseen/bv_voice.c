/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: When the user interrupts "long story", the utterance is cancelled while it plays. The speaker is only given
 *     back after a success (bind), so it stays locked, and the next utterance waits for it for ever.
 *   culprit: long story|on_turn|on_interrupt
 *   victim: conversation|good night
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A voice assistant: it answers one sentence after the other over the speaker, and can be interrupted. */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct utterance {
	const char *text;
	unsigned ms;
	unsigned interrupted_after; /* ms; 0: not at all */
};

static const struct utterance script[] = {
	{"hello", 40, 0},
	{"it is ten past nine", 60, 0},
	{"rain until noon", 50, 0},
	{"long story", 500, 80},
	{"good night", 30, 0},
};
#define UTTERANCES (sizeof script / sizeof *script)

static struct thrum_mutex *speaker;
static struct thrum_promise *speaking; /* what is said now */
static uv_timer_t interruption, microphone;
static size_t next;
static bool broken;
static unsigned frames;

static struct thrum_promise *after_playing(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_mutex_unlock(speaker);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *played(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return after_playing(loop, data);
}

static void on_interrupt(uv_timer_t *timer)
{
	(void)timer;
	printf("interrupted\n");
	thrum_promise_cancel(speaking);
}

static struct thrum_promise *on_turn(struct thrum_loop *loop, void *value, void *data)
{
	const struct utterance *utterance = data;
	struct thrum_promise *playing = thrum_sleep(loop, utterance->ms);

	(void)value;
	thrum_promise_labelf(playing, "play %s", utterance->text);
	if (utterance->interrupted_after > 0)
		uv_timer_start(&interruption, on_interrupt, utterance->interrupted_after, 0);
	if (broken)
		return thrum_promise_bind(playing, played, data, NULL);
	return thrum_promise_finalize(playing, after_playing, data, NULL);
}

static struct thrum_promise *say(const struct utterance *utterance)
{
	struct thrum_promise *said = thrum_promise_bind(thrum_mutex_lock(speaker), on_turn,
		(void *)utterance, NULL);

	thrum_promise_labelf(said, "say %s", utterance->text);
	thrum_promise_unref(speaking);
	speaking = thrum_promise_ref(said);
	return said;
}

static struct thrum_promise *converse(struct thrum_loop *loop);

static struct thrum_promise *go_on(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return converse(loop);
}

static struct thrum_promise *go_on_anyway(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	printf("not said to the end: %s\n", failure->message);
	return converse(loop);
}

static struct thrum_promise *converse(struct thrum_loop *loop)
{
	if (next == UTTERANCES)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%s\n", script[next].text);
	return thrum_promise_try_bind(say(&script[next++]), go_on, go_on_anyway, NULL, NULL);
}

/* Listens for the wake word. */
static void on_frame(uv_timer_t *timer)
{
	(void)timer;
	frames++;
}

int main(int argc, char **argv)
{
	struct thrum_promise *conversation;
	struct thrum_loop *loop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	speaker = thrum_mutex_create(loop, "speaker");
	uv_timer_init(uv_default_loop(), &interruption);
	uv_timer_init(uv_default_loop(), &microphone);
	uv_timer_start(&microphone, on_frame, 10, 10);
	conversation = thrum_promise_label(converse(loop), "conversation");
	error = thrum_promise_run(thrum_promise_should_resolve(conversation));
	printf("done after %u frames: %s\n", frames, thrum_promise_error_message(error));
	return error ? 1 : 0;
}
