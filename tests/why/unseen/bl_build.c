/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: version.o depends on config.h, which gen makes, which links libbase.a, which contains version.o: the
 *     targets wait for each other in a circle, as the daemon starts a target that is on its way only once.
 *   culprit: config\.h|version\.o|libbase\.a|gen\b
 *   victim: app\b|net\.o|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A build daemon on promises: a target is built once, and all that need it share its promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define NEEDS 4

struct target {
	const char *name;
	const char *needs[NEEDS];
	unsigned cost_ms;
	struct thrum_promise *built;
	struct thrum_resolver *resolver;
};

struct daemon {
	struct thrum_loop *loop;
	struct thrum_semaphore *jobs;
	unsigned commands;
	bool done;
};

static struct daemon daemon_;
static struct target targets[] = {
	{"app", {"main.o", "util.o", "net.o"}, 20, NULL, NULL},
	{"tests", {"test.o", "util.o"}, 15, NULL, NULL},
	{"main.o", {"main.c"}, 30, NULL, NULL},
	{"util.o", {"util.c"}, 25, NULL, NULL},
	{"test.o", {"test.c"}, 20, NULL, NULL},
	{"net.o", {"net.c", "config.h"}, 40, NULL, NULL},
	{"config.h", {"gen"}, 5, NULL, NULL},
	{"gen", {"gen.o", "libbase.a"}, 10, NULL, NULL},
	{"gen.o", {"gen.c"}, 15, NULL, NULL},
	{"libbase.a", {"base.o", "version.o"}, 8, NULL, NULL},
	{"base.o", {"base.c"}, 22, NULL, NULL},
	{"version.o", {"version.c", "config.h"}, 6, NULL, NULL},
};
#define TARGETS (sizeof targets / sizeof targets[0])

static struct target *target_find(const char *name)
{
	for (size_t i = 0; i < TARGETS; i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

/* ---- commands ---- */

static struct thrum_promise *command_begin(struct thrum_loop *loop, void *data)
{
	const struct target *target = data;

	daemon_.commands++;
	return thrum_promise_labelf(thrum_sleep(loop, target->cost_ms), "cc %s", target->name);
}

static struct thrum_promise *command(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_semaphore_with(daemon_.jobs, command_begin, data, NULL);
}

/* ---- targets ---- */

static struct thrum_promise *source_stat(struct thrum_loop *loop, const char *name)
{
	return thrum_promise_labelf(thrum_sleep(loop, 1), "stat %s", name);
}

static struct thrum_promise *build(struct thrum_loop *loop, const char *name)
{
	struct target *target = target_find(name);
	struct thrum_promise *needs[NEEDS];
	size_t count = 0;

	if (!target)
		return source_stat(loop, name);
	if (target->built)
		return thrum_promise_ref(target->built);
	target->built = thrum_promise_wait(loop, target->name, &target->resolver);
	thrum_promise_should_resolve(target->built);
	for (; count < NEEDS && target->needs[count]; count++)
		needs[count] = build(loop, target->needs[count]);
	thrum_resolver_follow(target->resolver,
		thrum_promise_bind(thrum_promise_join(loop, needs, count), command, target, NULL));
	return thrum_promise_ref(target->built);
}

/* ---- requests ---- */

static struct thrum_promise *request_done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	printf("%s is built\n", (const char *)data);
	fflush(stdout);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *request(struct thrum_loop *loop, const char *name)
{
	struct thrum_promise *work = build(loop, name);

	work = thrum_promise_bind(work, request_done, (void *)(uintptr_t)name, NULL);
	return thrum_promise_labelf(work, "make %s", name);
}

static struct thrum_promise *progress_step(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (daemon_.done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 50), progress_step, data, NULL);
}

static struct thrum_promise *progress(struct thrum_loop *loop, void *data)
{
	return progress_step(loop, NULL, data);
}

static struct thrum_promise *all_done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	daemon_.done = true;
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[2], *end;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	thrum_start(NULL);
	if (!strcmp(argv[1], "healthy"))
		target_find("version.o")->needs[1] = "version.h";
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &daemon_.loop))
		return 1;
	daemon_.jobs = thrum_semaphore_create(daemon_.loop, "jobs", 2);
	thrum_promise_async(daemon_.loop, "progress", progress, NULL, NULL);
	all[0] = request(daemon_.loop, "app");
	all[1] = request(daemon_.loop, "tests");
	end = thrum_promise_bind(thrum_promise_join(daemon_.loop, all, 2), all_done, NULL, NULL);
	code = thrum_promise_run(thrum_promise_label(end, "main"));
	printf("%u commands\n", daemon_.commands);
	thrum_stop();
	for (size_t i = 0; i < TARGETS; i++)
		if (targets[i].built)
			thrum_promise_unref(targets[i].built);
	thrum_semaphore_destroy(daemon_.jobs);
	thrum_loop_destroy(daemon_.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code ? 1 : 0;
}
