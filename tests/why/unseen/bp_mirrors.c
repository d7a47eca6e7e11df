/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=package
 *   truth: mirror "alps" doesn't answer. mark_down sets it aside for 5 ms instead of 5 s, so nearly each package whose turn it
 *     is asks it again, and waits for the time-out of 80 ms before it asks another mirror.
 *   culprit: ask alps|mark_down|ask_mirror
 *   victim: all packages|install
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Downloads the packages of an installation from several mirrors, some at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PACKAGES 36
#define MIRRORS 3
#define TIMEOUT 80  /* ms */
#define SET_ASIDE 5 /* seconds */

struct mirror {
	const char *name;
	unsigned latency;    /* ms; 0: it doesn't answer */
	uint64_t down_until; /* in the loop's time */
	unsigned served;
};

struct package {
	unsigned number;
	unsigned tries;
	struct mirror *mirror;
};

static struct mirror mirrors[MIRRORS] = {{.name = "lakes", .latency = 4}, {.name = "alps"},
	{.name = "coast", .latency = 7}};
static struct thrum_semaphore *downloads;
static struct thrum_resolver *unanswered[PACKAGES * MIRRORS];
static unsigned unanswered_count;
static unsigned turn;
static uint64_t second;

static struct thrum_promise *fetch(struct thrum_loop *loop, void *data);

/* Takes the mirrors in turn, but for those that are set aside. */
static struct mirror *pick_mirror(struct thrum_loop *loop)
{
	for (unsigned i = 0; i < MIRRORS; i++) {
		struct mirror *mirror = &mirrors[turn++ % MIRRORS];

		if (mirror->down_until <= uv_now(thrum_loop_uv(loop)))
			return mirror;
	}
	return &mirrors[turn++ % MIRRORS];
}

static void mark_down(struct thrum_loop *loop, struct mirror *mirror)
{
	mirror->down_until = uv_now(thrum_loop_uv(loop)) + SET_ASIDE * second;
}

/* Sends the request; what doesn't come back is given up by the caller. */
static struct thrum_promise *ask_mirror(struct thrum_loop *loop, struct mirror *mirror)
{
	struct thrum_promise *answer;

	if (mirror->latency)
		answer = thrum_sleep(loop, mirror->latency);
	else
		answer = thrum_promise_task(loop, NULL, &unanswered[unanswered_count++]);
	return thrum_promise_labelf(answer, "ask %s", mirror->name);
}

static struct thrum_promise *unpack(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = data;

	(void)value;
	package->mirror->served++;
	return thrum_promise_label(thrum_sleep(loop, 1), "unpack");
}

static struct thrum_promise *try_another(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct package *package = data;

	if (failure->code != -ETIMEDOUT || package->tries == MIRRORS)
		return thrum_promise_fail_again(loop, failure);
	mark_down(loop, package->mirror);
	return fetch(loop, package);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *data)
{
	struct package *package = data;
	struct thrum_promise *answer;

	package->tries++;
	package->mirror = pick_mirror(loop);
	answer = thrum_timeout(ask_mirror(loop, package->mirror), TIMEOUT);
	return thrum_promise_try_bind(answer, unpack, try_another, package, NULL);
}

static struct thrum_promise *begin_download(struct thrum_loop *loop, void *data)
{
	struct package *package = data;

	return thrum_promise_labelf(fetch(loop, package), "package %u", package->number);
}

int main(int argc, char **argv)
{
	static struct package packages[PACKAGES];
	struct thrum_promise *all[PACKAGES], *install;
	struct thrum_loop *loop;
	int result;

	if (argc < 2)
		return 2;
	second = strcmp(argv[1], "broken") ? 1000 : 1;
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	downloads = thrum_semaphore_create(loop, "downloads", 4);
	if (!downloads)
		return 1;
	for (unsigned i = 0; i < PACKAGES; i++) {
		packages[i].number = i + 1;
		all[i] = thrum_semaphore_with(downloads, begin_download, &packages[i], NULL);
		all[i] = thrum_promise_labelf(all[i], "install %u", i + 1);
	}
	install = thrum_promise_label(thrum_promise_join(loop, all, PACKAGES), "all packages");
	result = thrum_promise_run(thrum_promise_should_resolve(install));
	thrum_stop();
	for (unsigned i = 0; i < MIRRORS; i++)
		printf("%s: %u packages\n", mirrors[i].name, mirrors[i].served);
	printf("%s, %u requests were not answered\n", thrum_promise_error_message(result),
		unanswered_count);
	for (unsigned i = 0; i < unanswered_count; i++)
		thrum_resolver_drop(unanswered[i]);
	thrum_semaphore_destroy(downloads);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
