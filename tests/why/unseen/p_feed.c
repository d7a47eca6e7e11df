/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The health probe takes a job out of the mailbox "jobs" to see whether there is one, and throws it away; so the encoder waits for ever for its fifth job.
 *   culprit: health probe|probe
 *   victim: encoder|nightly run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* encode: a feeder passes jobs to an encoder through a mailbox; a probe watches the mailbox */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define JOBS 5

static struct thrum_mvar *jobs;
static bool broken;
static int fed, encoded;

static struct thrum_promise *feed_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *feed_put(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(thrum_mvar_put(jobs, thrum_value_int(++fed)), feed_next, NULL,
		NULL);
}

static struct thrum_promise *feed_next(struct thrum_loop *loop, void *value, void *data)
{
	if (fed == JOBS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), feed_put, NULL, NULL);
}

static struct thrum_promise *feeder(struct thrum_loop *loop, void *data)
{
	return feed_next(loop, NULL, NULL);
}

static struct thrum_promise *encode_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *encode(struct thrum_loop *loop, void *value, void *data)
{
	encoded++;
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, 25), "encode %d",
					  (int)thrum_int(value)),
		encode_next, NULL, NULL);
}

static struct thrum_promise *encode_next(struct thrum_loop *loop, void *value, void *data)
{
	if (encoded == JOBS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_mvar_take(jobs), encode, NULL, NULL);
}

static struct thrum_promise *on_peek(struct thrum_loop *loop, void *value, void *data)
{
	printf("probe: job %d is alive\n", (int)thrum_int(value));
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *probe(struct thrum_loop *loop, void *value, void *data)
{
	if (broken) /* "peek" */
		return thrum_promise_label(thrum_promise_bind(thrum_mvar_take(jobs), on_peek, NULL,
						   NULL),
			"health probe");
	printf("probe: mailbox is %s\n", thrum_mvar_is_empty(jobs) ? "empty" : "full");
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *start_probe(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 90), probe, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_listener *admin;
	struct thrum_promise *run;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 2;
	if (thrum_tcp_listen(loop, (struct sockaddr *)&address, 4, &admin))
		return 2;
	/* nobody ever calls the admin port: normal */
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_listener_accept(admin), "admin port"));
	jobs = thrum_mvar_create(loop, "jobs");
	thrum_promise_async(loop, "feeder", feeder, NULL, NULL);
	thrum_promise_async(loop, "health probe", start_probe, NULL, NULL);
	run = thrum_promise_label(encode_next(loop, NULL, NULL), "encoder");
	run = thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_protected(run), "nightly run"));
	result = thrum_promise_run(run);
	printf("encode: %d jobs\n", encoded);
	thrum_stop();
	return result ? 1 : 0;
}
