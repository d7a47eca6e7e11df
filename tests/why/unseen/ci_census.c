/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: export_large puts the promise of keep_lease into the array of parts that it joins. The lease ends only
 *     when release_lease says so, and that runs after the join. So the join waits for itself. export_small
 *     doesn't join the lease.
 *   culprit: export_large|keep_lease|lease
 *   victim: export 5
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A statistics office exports the census of one town after the other. As long as an export runs, it keeps a
 * lease at the archive, so that nobody changes the town's records. Large towns are exported in parts. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	TOWNS = 8,
	LARGE = 5,
	PARTS = 3,
};

struct office {
	struct thrum_loop *loop;
	struct thrum_condition *released;
	unsigned town;
	unsigned exported;
	unsigned leases; /* now */
	bool is_open;
	bool healthy;
};

static struct thrum_promise *on_released(struct thrum_loop *loop, void *value, void *data)
{
	struct office *office = data;

	(void)value;
	office->leases--;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Takes a lease, and returns a promise that ends when the lease was given back. */
static struct thrum_promise *keep_lease(struct office *office)
{
	office->leases++;
	return thrum_promise_labelf(thrum_promise_bind(thrum_condition_wait(office->released, NULL),
					    on_released, office, NULL),
		"lease %u", office->town);
}

static struct thrum_promise *release_lease(struct thrum_loop *loop, void *value, void *data)
{
	struct office *office = data;

	(void)value;
	office->exported++;
	thrum_condition_broadcast(office->released, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *write_part(struct office *office, unsigned part)
{
	return thrum_promise_labelf(thrum_sleep(office->loop, 12 + 5 * part), "part %u", part);
}

static struct thrum_promise *export_small(struct office *office)
{
	thrum_promise_ignore_result(keep_lease(office));
	return thrum_promise_bind(write_part(office, 0), release_lease, office, NULL);
}

static struct thrum_promise *export_large(struct office *office)
{
	struct thrum_promise *parts[PARTS + 1], *lease;
	size_t count = 0;

	lease = keep_lease(office);
	for (unsigned i = 0; i < PARTS; i++)
		parts[count++] = write_part(office, i);
	if (office->healthy)
		thrum_promise_ignore_result(lease);
	else
		parts[count++] = lease;
	return thrum_promise_bind(thrum_promise_join(office->loop, parts, count), release_lease,
		office, NULL);
}

static struct thrum_promise *export_next(struct thrum_loop *loop, void *value, void *data)
{
	struct office *office = data;
	struct thrum_promise *export;

	(void)value;
	if (office->town == TOWNS) {
		office->is_open = false;
		return thrum_promise_return(loop, thrum_value_none());
	}
	export = office->town == LARGE ? export_large(office) : export_small(office);
	export = thrum_promise_labelf(export, "export %u", office->town);
	office->town++;
	return thrum_promise_bind(export, export_next, office, NULL);
}

/* The clock in the hall goes on. */
static struct thrum_promise *strike(struct thrum_loop *loop, void *value, void *data)
{
	struct office *office = data;

	(void)value;
	if (!office->is_open)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), strike, office, NULL);
}

int main(int count, char **arguments)
{
	struct office office = {.is_open = true};
	struct thrum_promise *all;
	uv_loop_t uv;
	int result;

	if (count != 2)
		return 2;
	office.healthy = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &office.loop))
		return 1;
	office.released = thrum_condition_create(office.loop, "lease released");
	thrum_promise_ignore_result(
		thrum_promise_label(strike(office.loop, NULL, &office), "hall clock"));
	all = thrum_promise_label(export_next(office.loop, NULL, &office), "census");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%u towns exported, %u leases: %s\n", office.exported, office.leases,
		thrum_promise_error_message(result));
	thrum_condition_destroy(office.released);
	thrum_loop_destroy(office.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
