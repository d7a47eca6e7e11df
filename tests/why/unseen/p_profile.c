/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the refresh of user 3 takes the lock of the profile cache; its fetch fails, the failure is handled
 *     (logged), but the lock is never unlocked. All later lookups wait for the cache for ever.
 *   culprit: refresh user 3|fetch profile 3|refresh_locked|refresh_done|bind in refresh|[Rr]efresh.*[Hh]old|[Hh]old.*refresh
 *   victim: lookup|session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* profiled: a profile service. A cache, guarded by a mutex; refreshes from the origin; sessions. */
static struct thrum_mutex *cache;
static char profiles[8][32];
static bool careful;

static struct thrum_promise *origin_answers(struct thrum_loop *loop, void *value, void *data)
{
	int user = (int)(intptr_t)data;

	if (user == 3)
		return thrum_promise_fail(loop, -ECONNRESET, "origin: connection reset");
	snprintf(profiles[user], sizeof profiles[user], "name-%d", user);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *unlock_cache(struct thrum_loop *loop, void *data)
{
	thrum_mutex_unlock(cache);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *refresh_done(struct thrum_loop *loop, void *value, void *data)
{
	thrum_mutex_unlock(cache);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *refresh_locked(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *fetch = thrum_promise_bind(thrum_sleep(loop, 8), origin_answers, data,
		NULL);

	thrum_promise_labelf(fetch, "fetch profile %d", (int)(intptr_t)data);
	if (careful)
		return thrum_promise_finalize(fetch, unlock_cache, NULL, NULL);
	return thrum_promise_bind(fetch, refresh_done, NULL, NULL);
}

static struct thrum_promise *refresh_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	thrum_logf("refresh of %d failed: %s; keeping the old one", (int)(intptr_t)data,
		failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *refresh(struct thrum_loop *loop, int user)
{
	struct thrum_promise *done;

	done = thrum_promise_bind(thrum_mutex_lock(cache), refresh_locked, (void *)(intptr_t)user,
		NULL);
	done = thrum_promise_catch(done, refresh_failed, (void *)(intptr_t)user, NULL);
	return thrum_promise_labelf(done, "refresh user %d", user);
}

static struct thrum_promise *lookup_locked(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *lookup(struct thrum_loop *loop, int user)
{
	return thrum_promise_labelf(thrum_mutex_with(cache, lookup_locked, NULL, NULL),
		"lookup user %d", user);
}

struct session {
	int number, turn;
};

static struct thrum_promise *session_turn(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *session_pause(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	session->turn++;
	return thrum_promise_bind(thrum_sleep(loop, 10 + session->number * 3), session_turn,
		session, NULL);
}

static struct thrum_promise *session_turn(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	if (session->turn == 8)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(lookup(loop, (session->number + session->turn) % 8),
		session_pause, session, NULL);
}

static struct thrum_promise *refresh_next(struct thrum_loop *loop, void *value, void *data)
{
	int user = (int)(intptr_t)data;
	struct thrum_promise *one;

	if (user == 8)
		return thrum_promise_return(loop, thrum_value_none());
	one = refresh(loop, user);
	return thrum_promise_bind(one, refresh_next, (void *)(intptr_t)(user + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[5], *idle;
	struct session session[4];
	struct thrum_loop *loop;
	int result;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	cache = thrum_mutex_create(loop, "profile cache");
	idle = thrum_promise_label(thrum_sleep(loop, 3600000), "daily clean-up");
	for (int i = 0; i < 4; i++) {
		session[i] = (struct session){i, 0};
		all[i] = thrum_promise_bind(thrum_sleep(loop, i), session_turn, &session[i], NULL);
		thrum_promise_should_resolve(thrum_promise_labelf(all[i], "session %d", i));
	}
	all[4] = thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 20), refresh_next, NULL,
					     NULL),
		"refresher");
	result = thrum_promise_run(thrum_promise_join(loop, all, 5));
	thrum_stop();
	thrum_promise_cancel(idle);
	printf("profiled: %s\n", thrum_promise_error_message(result));
	return result != 0;
}
