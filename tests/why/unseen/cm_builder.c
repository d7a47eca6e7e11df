/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3000
 *   ask: why
 *   truth: the target libnet of the fourth project names libcore twice. target_depend counts it as two that are
 *     missing, but notes libnet only once among those that libcore tells when it is built. So libnet always
 *     misses one and is never started; app and the project wait behind it.
 *   culprit: libnet|target_depend
 *   victim: app\b|project 4
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Builds projects: each target is compiled once all are built that it depends on. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	TARGETS = 5,
	LINKS = 8,
	PROJECTS = 5
};

struct target {
	const char *name;
	struct builder *builder;
	struct thrum_promise *built;
	struct thrum_resolver *resolver;
	struct target *dependent[TARGETS]; /* to tell when this one is built */
	unsigned dependents;
	unsigned missing; /* those it depends on that aren't built yet */
};

struct builder {
	struct thrum_loop *loop;
	struct thrum_semaphore *compilers;
	struct target target[TARGETS];
	unsigned project;
	unsigned compiled;
	bool is_over;
};

/* Pairs of a target and one that it depends on, by their numbers; the last project's list is the fourth's, mended. */
static const struct {
	unsigned target, on;
} links[PROJECTS][LINKS] = {
	{{1, 0}, {2, 0}, {3, 1}, {4, 2}, {4, 3}},
	{{2, 0}, {2, 1}, {4, 2}, {3, 2}},
	{{1, 0}, {2, 1}, {3, 2}, {4, 3}},
	{{1, 0}, {2, 0}, {2, 1}, {2, 0}, {4, 2}, {4, 3}},
	{{1, 0}, {2, 0}, {2, 1}, {4, 2}, {4, 3}},
};
static const char *const names[TARGETS] = {"libcore", "parser", "libnet", "icons", "app"};

static bool broken;

static void target_start(struct target *target);

/* Notes that a target needs another one first. */
static void target_depend(struct target *target, struct target *on)
{
	if (broken)
		target->missing++;
	for (unsigned i = 0; i < on->dependents; i++)
		if (on->dependent[i] == target)
			return; /* it is told once */
	on->dependent[on->dependents++] = target;
	if (!broken)
		target->missing++;
}

static struct thrum_promise *on_compiled(struct thrum_loop *loop, void *value, void *data)
{
	struct target *target = data;
	struct thrum_resolver *resolver = target->resolver;

	(void)value;
	target->builder->compiled++;
	for (unsigned i = 0; i < target->dependents; i++)
		if (--target->dependent[i]->missing == 0)
			target_start(target->dependent[i]);
	target->resolver = NULL;
	thrum_resolver_resolve(resolver, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *compile(struct thrum_loop *loop, void *data)
{
	const struct target *target = data;

	return thrum_sleep(loop, 8 + strlen(target->name));
}

static void target_start(struct target *target)
{
	struct thrum_promise *compiled;

	compiled = thrum_semaphore_with(target->builder->compilers, compile, target, NULL);
	compiled = thrum_promise_bind(compiled, on_compiled, target, NULL);
	thrum_promise_ignore_result(thrum_promise_labelf(compiled, "compile %s", target->name));
}

/* Returns a promise for all targets of the project. */
static struct thrum_promise *build_project(struct builder *builder)
{
	struct thrum_promise *all[TARGETS];

	for (unsigned i = 0; i < TARGETS; i++) {
		struct target *target = &builder->target[i];

		memset(target, 0, sizeof(*target));
		target->name = names[i];
		target->builder = builder;
		target->built = thrum_promise_task(builder->loop, names[i], &target->resolver);
		all[i] = target->built;
	}
	for (unsigned i = 0; i < LINKS; i++) {
		unsigned from = links[builder->project][i].target,
			 on = links[builder->project][i].on;

		if (from != on)
			target_depend(&builder->target[from], &builder->target[on]);
	}
	for (unsigned i = 0; i < TARGETS; i++)
		if (builder->target[i].missing == 0)
			target_start(&builder->target[i]);
	return thrum_promise_join(builder->loop, all, TARGETS);
}

static struct thrum_promise *next_project(struct thrum_loop *loop, void *value, void *data)
{
	struct builder *builder = data;
	struct thrum_promise *project;

	(void)value;
	if (builder->project == PROJECTS) {
		builder->is_over = true;
		return thrum_promise_return(loop, thrum_value_none());
	}
	printf("project %u\n", builder->project + 1);
	fflush(stdout);
	project = thrum_promise_labelf(build_project(builder), "project %u", builder->project + 1);
	builder->project++;
	return thrum_promise_bind(thrum_promise_should_resolve(project), next_project, builder,
		NULL);
}

/* The lamp on the desk blinks while the builder runs. */
static struct thrum_promise *blink(struct thrum_loop *loop, void *value, void *data)
{
	const struct builder *builder = data;

	(void)value;
	if (builder->is_over)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 50), "lamp"), blink, data,
		NULL);
}

int main(int argc, char **argv)
{
	static struct builder builder;
	struct thrum_promise *all;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &builder.loop))
		return 1;
	builder.compilers = thrum_semaphore_create(builder.loop, "compilers", 2);
	thrum_promise_ignore_result(blink(builder.loop, NULL, &builder));
	all = thrum_promise_label(next_project(builder.loop, NULL, &builder), "all projects");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("done: %u compiled, %d\n", builder.compiled, error);
	thrum_semaphore_destroy(builder.compilers);
	thrum_loop_destroy(builder.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
