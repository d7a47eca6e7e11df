/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run: self
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: self
 *   ask: diff good
 *   truth: While three look-ups are under way, prefetch drops the next host, fonts.example. It should keep
 *     it for later. So the name is looked up only when a file is needed, and the page takes longer.
 *   culprit: fonts\.example
 *   victim: load page|GET /|render
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define HOSTS 6
#define LIMIT 3
#define FILES 18

struct host {
	const char *name;
	int takes; /* ms for a look-up */
	struct thrum_promise *address;
};

static struct host hosts[HOSTS] = {
	{"www.example", 4, NULL},
	{"static.example", 12, NULL},
	{"images.example", 8, NULL},
	{"ads.example", 10, NULL},
	{"fonts.example", 45, NULL},
	{"stats.example", 6, NULL},
};
static int under_way, waiting[HOSTS], waiting_count, files, kilobytes;
static bool careful;

static void prefetch(struct thrum_loop *loop, int index);

static struct thrum_promise *look_up(struct thrum_loop *loop, struct host *host, const char *reason)
{
	host->address = thrum_promise_labelf(thrum_sleep(loop, host->takes), "%s %s", reason,
		host->name);
	return host->address;
}

static void prefetched(struct thrum_loop *loop, void *data)
{
	(void)data;
	under_way--;
	if (waiting_count > 0) {
		int next = waiting[0];

		memmove(waiting, waiting + 1, --waiting_count * sizeof(waiting[0]));
		prefetch(loop, next);
	}
}

/* Looks up the name of a host ahead of time, a few at once. */
static void prefetch(struct thrum_loop *loop, int index)
{
	struct host *host = &hosts[index];

	if (host->address)
		return;
	if (under_way == LIMIT) {
		if (careful)
			waiting[waiting_count++] = index;
		return;
	}
	under_way++;
	look_up(loop, host, "prefetch");
	thrum_promise_on_termination(thrum_promise_ref(host->address), prefetched, NULL, NULL);
}

static int unpack(void *data, struct thrum_value *result)
{
	unsigned sum = (unsigned)(intptr_t)data;

	for (unsigned i = 0; i < 100000; i++)
		sum = sum * 33 + i;
	*result = thrum_value_int((sum & 31) + 1);
	return 0;
}

static struct thrum_promise *received(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_work(loop, "unpack", unpack, data, NULL);
}

static struct thrum_promise *send_request(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 2 + number % 3), received, data, NULL);
}

static struct thrum_promise *next_file(struct thrum_loop *loop, void *value, void *data)
{
	static const int order[] = {0, 1, 2, 1, 2, 0, 3, 2, 1, 0, 1, 2, 4, 5, 3, 1, 4, 0};
	struct host *host;
	struct thrum_promise *file, *address;

	(void)data;
	kilobytes += (int)thrum_int(value);
	if (files == FILES)
		return thrum_promise_return(loop, thrum_value_none());
	host = &hosts[order[files]];
	/* The page's head names the other hosts. */
	if (files == 1)
		for (int i = 1; i < HOSTS - 1; i++)
			prefetch(loop, i);
	if (files == 2)
		prefetch(loop, HOSTS - 1);
	address = host->address ? host->address : look_up(loop, host, "look up");
	file = thrum_promise_bind(thrum_promise_ref(address), send_request, (void *)(intptr_t)files,
		NULL);
	thrum_promise_labelf(file, "GET /%d", files);
	files++;
	return thrum_promise_bind(file, next_file, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *page, *spinner;
	int error;

	careful = argc < 2 || strcmp(argv[1], "bad");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	page = thrum_promise_bind(thrum_promise_pause(loop), next_file, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(page, "load page"));
	spinner = thrum_promise_label(thrum_sleep(loop, 1000), "spinner");
	thrum_promise_ignore_result(thrum_promise_ref(spinner));
	error = thrum_promise_run(page);
	thrum_stop();
	printf("%d files, %d kB\n", files, kilobytes);
	return error ? 1 : 0;
}
