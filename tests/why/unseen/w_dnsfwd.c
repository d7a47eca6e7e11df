/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: client 10.0.0.7 leads the lookup of cdn.example that others share. Its patience of 60 ms ends, which cancels the upstream question; nobody signals "inflight cdn.example" then, and the followers 10.0.0.8 and 10.0.0.9 wait for a leader that has ended.
 *   culprit: 10\.0\.0\.7|upstream cdn
 *   victim: 10\.0\.0\.[89]|inflight cdn
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* dnsfwd: a forwarder; questions for one name share one lookup. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct name {
	const char *name;
	unsigned delay;
	struct thrum_condition *inflight;
	bool busy, known;
};
struct query {
	struct name *name;
	int client;
	unsigned patience;
};

static bool leader_only_on_success;
static bool done;
static struct name names[] = {
	{"www.example", 15, NULL, false, false},
	{"mail.example", 25, NULL, false, false},
	{"cdn.example", 180, NULL, false, false},
};

static struct thrum_promise *lookup(struct thrum_loop *loop, struct query *query);

static struct thrum_value landed(struct thrum_loop *loop, void *value, void *data)
{
	struct name *name = data;

	(void)loop;
	(void)value;
	name->known = true;
	if (leader_only_on_success) {
		name->busy = false;
		thrum_condition_broadcast(name->inflight, thrum_value_none());
	}
	return thrum_value_none();
}

static struct thrum_promise *leave(struct thrum_loop *loop, void *data)
{
	struct name *name = data;

	if (!leader_only_on_success) {
		name->busy = false;
		thrum_condition_broadcast(name->inflight, thrum_value_none());
	}
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *look_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return lookup(loop, data);
}

static struct thrum_promise *lookup(struct thrum_loop *loop, struct query *query)
{
	struct name *name = query->name;
	struct thrum_promise *answer;

	if (name->known)
		return thrum_promise_return(loop, thrum_value_none());
	if (name->busy)
		return thrum_promise_bind(thrum_condition_wait(name->inflight, NULL), look_again,
			query, NULL);
	name->busy = true;
	answer = thrum_promise_labelf(thrum_sleep(loop, name->delay), "upstream %s", name->name);
	answer = thrum_promise_map(answer, landed, name, NULL);
	answer = thrum_promise_finalize(answer, leave, name, NULL);
	return query->patience ? thrum_timeout(answer, query->patience) : answer;
}

static struct thrum_promise *servfail(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct query *query = data;

	fprintf(stderr, "dnsfwd: 10.0.0.%d: SERVFAIL (%s)\n", query->client, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *start(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return lookup(loop, data);
}

static struct thrum_promise *ask(struct thrum_loop *loop, unsigned at, int name, int client,
	unsigned patience)
{
	struct query *query = malloc(sizeof *query);
	struct thrum_promise *promise;

	*query = (struct query){&names[name], client, patience};
	promise = thrum_promise_bind(thrum_sleep(loop, at), start, query, NULL);
	promise = thrum_promise_catch(promise, servfail, query, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(promise, "10.0.0.%d %s", client, names[name].name));
}

static struct thrum_promise *stats(struct thrum_loop *loop, void *data);
static struct thrum_promise *stats_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return done ? thrum_promise_return(loop, thrum_value_none()) : stats(loop, data);
}
static struct thrum_promise *stats(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 50), stats_again, data, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *query[8];
	int code, n = 0;
	char label[64];

	leader_only_on_success = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < 3; i++) {
		snprintf(label, sizeof label, "inflight %s", names[i].name);
		names[i].inflight = thrum_condition_create(loop, label);
	}
	thrum_promise_async(loop, "stats", stats, NULL, NULL);
	query[n++] = ask(loop, 2, 0, 3, 0);
	query[n++] = ask(loop, 6, 0, 4, 0);
	query[n++] = ask(loop, 8, 1, 5, 200);
	query[n++] = ask(loop, 20, 2, 7, 60);
	query[n++] = ask(loop, 30, 2, 8, 0);
	query[n++] = ask(loop, 50, 2, 9, 0);
	query[n++] = ask(loop, 70, 1, 6, 0);
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, query, n), "all clients"));
	done = true;
	thrum_stop();
	printf("dnsfwd: %s\n", thrum_promise_error_message(code));
	return code != 0;
}
