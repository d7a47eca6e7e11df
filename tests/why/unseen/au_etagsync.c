/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=sync
 *   truth: after a 412 the client tries again with the same version from its cache of etags; each put fails
 *     until the cache entry expires, so the retries make no progress and cost the sync its time
 *   culprit: put_document|\bput\b|412|stale etag
 *   victim: sync|back off|back_off
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A sync client: it stores documents with "If-Match: etag", and tries again when somebody was faster. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define DOCUMENTS 8
#define SYNCS 48
#define LANES 3
#define CACHE_MS 200
#define CONFLICT 412

struct document {
	int server_version;
	int cached_version;
	uint64_t cached_until; /* 0: not cached */
};

struct client {
	struct document documents[DOCUMENTS];
	bool forget_on_conflict;
	int conflicts;
};

struct lane {
	struct client *client;
	int next;
};

struct sync {
	struct client *client;
	struct document *document;
	int number;
	int etag;
};

static struct thrum_promise *attempt(struct thrum_loop *loop, void *value, void *data);

static uint64_t now_ms(struct thrum_loop *loop)
{
	return uv_now(thrum_loop_uv(loop));
}

/* The server's answer to HEAD. */
static struct thrum_promise *store_etag(struct thrum_loop *loop, void *value, void *data)
{
	struct sync *sync = data;
	struct document *document = sync->document;

	(void)value;
	document->cached_version = document->server_version;
	document->cached_until = now_ms(loop) + CACHE_MS;
	sync->etag = document->cached_version;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *get_etag(struct thrum_loop *loop, struct sync *sync)
{
	struct document *document = sync->document;
	struct thrum_promise *head;

	if (document->cached_until > now_ms(loop)) {
		sync->etag = document->cached_version;
		return thrum_promise_return(loop, thrum_value_none());
	}
	head = thrum_promise_label(thrum_sleep(loop, 2), "HEAD");
	return thrum_promise_bind(head, store_etag, sync, NULL);
}

/* The server's answer to PUT. */
static struct thrum_promise *on_put_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct sync *sync = data;
	struct document *document = sync->document;

	(void)value;
	if (sync->etag != document->server_version)
		return thrum_promise_fail(loop, CONFLICT, "412 stale etag %d", sync->etag);
	document->server_version++;
	document->cached_version = document->server_version;
	document->cached_until = now_ms(loop) + CACHE_MS;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *put_document(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *put;

	(void)value;
	put = thrum_promise_bind(thrum_sleep(loop, 3), on_put_answer, data, NULL);
	return thrum_promise_label(put, "put");
}

static struct thrum_promise *back_off(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct sync *sync = data;

	if (failure->code != CONFLICT)
		return thrum_promise_fail_again(loop, failure);
	sync->client->conflicts++;
	if (sync->client->forget_on_conflict)
		sync->document->cached_until = 0;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 5), "back off"), attempt,
		sync, NULL);
}

static struct thrum_promise *attempt(struct thrum_loop *loop, void *value, void *data)
{
	struct sync *sync = data;
	struct thrum_promise *put;

	(void)value;
	put = thrum_promise_bind(get_etag(loop, sync), put_document, sync, NULL);
	return thrum_promise_catch(put, back_off, sync, NULL);
}

static struct thrum_promise *nothing(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Another user saves the document now and then. */
static void other_user(struct document *document, int number)
{
	if (number % 6 == 5)
		document->server_version++;
}

static struct thrum_promise *lane_next(struct thrum_loop *loop, void *value, void *data)
{
	struct lane *lane = data;
	struct thrum_promise *done;
	struct sync *sync;

	(void)value;
	if (lane->next >= SYNCS)
		return thrum_promise_return(loop, thrum_value_none());
	sync = calloc(1, sizeof(*sync));
	sync->client = lane->client;
	sync->number = lane->next;
	sync->document = &lane->client->documents[lane->next % DOCUMENTS];
	lane->next += LANES;
	other_user(sync->document, sync->number);
	done = thrum_promise_labelf(attempt(loop, NULL, sync), "sync %d", sync->number);
	done = thrum_promise_finalize(done, nothing, sync, free);
	return thrum_promise_bind(done, lane_next, lane, NULL);
}

int main(int argc, char **argv)
{
	struct client client = {0};
	struct lane lanes[LANES];
	struct thrum_promise *all[LANES], *uploaded;
	struct thrum_loop *loop;
	uv_loop_t uv;
	uint64_t start;
	int error;

	if (argc != 2)
		return 2;
	client.forget_on_conflict = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	start = uv_hrtime();
	for (int i = 0; i < LANES; i++) {
		lanes[i] = (struct lane){&client, i};
		all[i] = lane_next(loop, NULL, &lanes[i]);
	}
	uploaded = thrum_promise_label(thrum_promise_join(loop, all, LANES), "folder");
	error = thrum_promise_run(thrum_promise_should_resolve(uploaded));
	thrum_stop();

	printf("%d syncs in %llu ms, %d conflicts\n", SYNCS,
		(unsigned long long)((uv_hrtime() - start) / 1000000), client.conflicts);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
