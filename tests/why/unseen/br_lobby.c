/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2500
 *   ask: why
 *   truth: When the player and the substitute have both declined an invitation, on_answer returns without ending the seat's
 *     promise. So the match, and the other player who has accepted, wait for that seat for ever.
 *   culprit: on_answer|invite_ask|\bseat \d+/1\b|ask player
 *   victim: match \d+
 * case: healthy
 *   args: healthy
 *   run: self live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A game lobby: two players are invited to each match, which begins when both have accepted. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct invite {
	struct thrum_resolver *resolver;
	struct thrum_promise *seat; /* borrowed */
	unsigned match, side, asked;
};

static bool fixed;
static unsigned played, called_off, last_match;

static void invite_ask(struct thrum_loop *loop, struct invite *invite);

/* Players who are in a hurry decline. */
static bool player_accepts(const struct invite *invite)
{
	if (invite->side == 0)
		return true;
	return invite->match % 3 != 0 || (invite->asked == 2 && invite->match % 6 == 3);
}

static void on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct invite *invite = data;

	(void)value;
	if (player_accepts(invite)) {
		thrum_resolver_resolve(invite->resolver, thrum_value_none());
		free(invite);
		return;
	}
	if (invite->asked < 2) { /* there is one substitute */
		invite_ask(loop, invite);
		return;
	}
	if (fixed)
		thrum_resolver_fail(invite->resolver, -ECONNREFUSED, "nobody wants to play");
	free(invite);
}

static void invite_ask(struct thrum_loop *loop, struct invite *invite)
{
	struct thrum_promise *answer = thrum_sleep(loop, 10 + invite->match % 4);

	answer = thrum_promise_label(answer, invite->asked ? "ask substitute" : "ask player");
	invite->asked++;
	thrum_task_wait(thrum_promise_task_id(invite->seat), thrum_promise_task_id(answer));
	thrum_promise_on_success(answer, on_answer, invite, NULL);
}

static struct thrum_promise *seat_fill(struct thrum_loop *loop, unsigned match, unsigned side)
{
	struct invite *invite = calloc(1, sizeof(*invite));
	char label[32];

	snprintf(label, sizeof(label), "seat %u/%u", match, side);
	invite->match = match;
	invite->side = side;
	invite->seat = thrum_promise_task(loop, label, &invite->resolver);
	struct thrum_promise *seat = invite->seat;
	invite_ask(loop, invite);
	return seat;
}

static struct thrum_promise *match_play(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	played++;
	return thrum_promise_label(thrum_sleep(loop, 20), "play");
}

static struct thrum_promise *match_call_off(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	called_off++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *match_start(struct thrum_loop *loop, unsigned number)
{
	struct thrum_promise *seats[2], *match;

	for (unsigned side = 0; side < 2; side++)
		seats[side] = seat_fill(loop, number, side);
	match = thrum_promise_bind(thrum_promise_join(loop, seats, 2), match_play, NULL, NULL);
	match = thrum_promise_catch(match, match_call_off, NULL, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(match, "match %u", number));
}

static struct thrum_promise *open_matches(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (++last_match % 10 == 0) {
		printf("%u matches, %u played, %u called off\n", last_match, played, called_off);
		fflush(stdout);
	}
	thrum_promise_ignore_result(match_start(loop, last_match));
	return thrum_promise_bind(thrum_sleep(loop, 25), open_matches, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	return thrum_promise_run(thrum_promise_label(open_matches(loop, NULL, NULL), "lobby")) != 0;
}
