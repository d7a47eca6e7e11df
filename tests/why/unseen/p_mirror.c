/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: The fetches of zlib and openssl fail their checksum and return without giving their download slot back; the two slots of the semaphore are lost, so that all later fetches wait for a slot for ever.
 *   culprit: (?i)fetch (zlib|openssl)|(holds?|held|releas|taken|leak|gave|give)[^\n]*download slots|download slots[^\n]*(holds?|held|releas|taken|leak|gave|give)
 *   victim: fetch (perl|tcl|lua|git)|sync mirror
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* mirror: copies a list of packages from an upstream, two at a time */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct package {
	const char *name;
	int ms;
	bool corrupt;
};

static struct package packages[] = {
	{"bash", 20, false},
	{"curl", 35, false},
	{"zlib", 25, true},
	{"sed", 15, false},
	{"openssl", 60, true},
	{"perl", 40, false},
	{"tcl", 20, false},
	{"lua", 10, false},
	{"git", 30, false},
};
#define COUNT (sizeof(packages) / sizeof(packages[0]))

static struct thrum_semaphore *slots;
static bool broken;

static struct thrum_promise *give_back(struct thrum_loop *loop)
{
	thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_stored(struct thrum_loop *loop, void *value, void *data)
{
	return give_back(loop);
}

static struct thrum_promise *on_finished(struct thrum_loop *loop, void *data)
{
	return give_back(loop);
}

static struct thrum_promise *check_sum(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = data;

	if (package->corrupt)
		return thrum_promise_fail(loop, 7, "checksum mismatch: %s", package->name);
	return thrum_sleep(loop, 3);
}

static struct thrum_promise *transfer(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = data;
	struct thrum_promise *checked;

	checked = thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, package->ms),
					     "transfer %s", package->name),
		check_sum, package, NULL);
	if (broken)
		return thrum_promise_bind(checked, on_stored, NULL, NULL);
	return thrum_promise_finalize(checked, on_finished, NULL, NULL);
}

static struct thrum_promise *skip(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	printf("mirror: skipped: %s\n", failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *fetch(struct thrum_loop *loop, struct package *package)
{
	struct thrum_promise *fetched;

	fetched = thrum_promise_bind(thrum_semaphore_acquire(slots), transfer, package, NULL);
	fetched = thrum_promise_labelf(fetched, "fetch %s", package->name);
	return thrum_promise_catch(fetched, skip, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[COUNT], *sync;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 2;
	slots = thrum_semaphore_create(loop, "download slots", 2);
	for (size_t i = 0; i < COUNT; i++)
		all[i] = fetch(loop, &packages[i]);
	sync = thrum_promise_join(loop, all, COUNT);
	sync = thrum_promise_should_resolve(thrum_promise_label(sync, "sync mirror"));
	result = thrum_promise_run(sync);
	printf("mirror: %s\n", thrum_promise_error_message(result));
	thrum_stop();
	thrum_semaphore_destroy(slots);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result ? 1 : 0;
}
