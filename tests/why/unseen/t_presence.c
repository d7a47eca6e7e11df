/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The condition "roster loaded" is signalled once, while bob still authenticates. The path of clients that reconnect doesn't look at the flag, so bob's session waits for a signal that has already been given (missed condition). Culprit: the signal of "roster loaded" that came before bob's wait; victim: session bob.
 *   culprit: (?i)(roster|bob|wait).*(\blost\b|too late|missed|already|earlier|before (the|its|bob\S*) wait|before .*waited)|signall?ed by.*roster
 *   victim: (?i)session bob|bob
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct user {
	const char *name;
	unsigned arrives, auth;
	int resumes;
};

static struct user users[] = {
	{"alice", 5, 10, 0},
	{"bob", 30, 80, 1},
	{"carol", 12, 20, 0},
	{"dave", 90, 15, 0},
};
static struct thrum_condition *roster;
static int roster_ready, broken;

static struct thrum_promise *announce(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_label(thrum_sleep(loop, 4), "announce online");
}

static struct thrum_promise *authenticated(struct thrum_loop *loop, void *value, void *data)
{
	struct user *user = data;

	if (roster_ready && !(broken && user->resumes))
		return announce(loop, NULL, user);
	return thrum_promise_bind(thrum_condition_wait(roster, NULL), announce, user, NULL);
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *value, void *data)
{
	struct user *user = data;
	struct thrum_promise *auth = thrum_promise_labelf(thrum_sleep(loop, user->auth), "auth %s",
		user->name);

	return thrum_promise_bind(auth, authenticated, user, NULL);
}

static struct thrum_promise *session(struct thrum_loop *loop, struct user *user)
{
	struct thrum_promise *done = thrum_promise_bind(thrum_sleep(loop, user->arrives), connected,
		user, NULL);

	return thrum_promise_should_resolve(thrum_promise_labelf(done, "session %s", user->name));
}

static struct thrum_value loaded(struct thrum_loop *loop, void *value, void *data)
{
	roster_ready = 1;
	thrum_condition_broadcast(roster, thrum_value_none());
	return thrum_value_none();
}

static void on_ping(uv_timer_t *timer)
{
}

static void on_done(struct thrum_loop *loop, void *data)
{
	uv_close(data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[5], *main_task;
	struct thrum_loop *loop;
	uv_timer_t ping;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	uv_timer_init(&uv, &ping);
	uv_timer_start(&ping, on_ping, 50, 50);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	roster = thrum_condition_create(loop, "roster loaded");
	all[0] = thrum_promise_label(thrum_promise_map(thrum_sleep(loop, 60), loaded, NULL, NULL),
		"load roster");
	for (int i = 0; i < 4; i++)
		all[i + 1] = session(loop, &users[i]);
	main_task = thrum_promise_label(thrum_promise_join(loop, all, 5), "all online");
	thrum_promise_on_termination(thrum_promise_ref(main_task), on_done, &ping, NULL);
	result = thrum_promise_run(main_task);
	thrum_condition_destroy(roster);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result ? 1 : 0;
}
