/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "upload attachment" locks "collection", and is cancelled by its timeout; the unlock hangs on the success of the upload only, so the mutex stays locked. "save event", which comes later, waits for it for ever, and "sync calendar" for that.
 *   culprit: upload[ _]attachment
 *   victim: save event|sync calendar|collection
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A calendar client: uploads and saves under a lock of the collection; a poller in the background. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_mutex *collection;
static bool by_hand, done;
static int saved, given_up;

static struct thrum_promise *put_attachment(struct thrum_loop *loop, void *data)
{
	/* The server takes its time for large files. */
	return thrum_promise_label(thrum_sleep(loop, 350), "PUT photo.jpg");
}

static struct thrum_promise *put_locked(struct thrum_loop *loop, void *value, void *data)
{
	return put_attachment(loop, data);
}

static struct thrum_promise *unlock(struct thrum_loop *loop, void *value, void *data)
{
	thrum_mutex_unlock(collection);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *try_later(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	given_up++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *upload_attachment(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *sent;

	if (by_hand) {
		sent = thrum_promise_bind(thrum_mutex_lock(collection), put_locked, NULL, NULL);
		sent = thrum_promise_bind(sent, unlock, NULL, NULL);
	} else {
		sent = thrum_mutex_with(collection, put_attachment, NULL, NULL);
	}
	return thrum_promise_catch(thrum_timeout(sent, 90), try_later, NULL, NULL);
}

static struct thrum_promise *put_event(struct thrum_loop *loop, void *data)
{
	saved++;
	return thrum_promise_label(thrum_sleep(loop, 15), "PUT event.ics");
}

static struct thrum_promise *save_event(struct thrum_loop *loop)
{
	return thrum_promise_should_resolve(
		thrum_promise_label(thrum_mutex_with(collection, put_event, NULL, NULL),
			"save event"));
}

static struct thrum_promise *save_more(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *events[2] = {save_event(loop), save_event(loop)};

	return thrum_promise_join(loop, events, 2);
}

static struct thrum_promise *edit_calendar(struct thrum_loop *loop, void *value, void *data)
{
	thrum_promise_async(loop, "upload attachment", upload_attachment, NULL, NULL);
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 120), "user edits"),
		save_more, NULL, NULL);
}

static struct thrum_promise *poll_again(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *poll_server(struct thrum_loop *loop, void *data)
{
	if (done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), poll_again, NULL, NULL);
}

static struct thrum_promise *poll_again(struct thrum_loop *loop, void *value, void *data)
{
	return poll_server(loop, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *sync;
	struct thrum_loop *loop;
	int result;

	by_hand = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	collection = thrum_mutex_create(loop, "collection");
	thrum_promise_async(loop, "poll server", poll_server, NULL, NULL);
	sync = thrum_promise_bind(save_event(loop), edit_calendar, NULL, NULL);
	sync = thrum_promise_should_resolve(thrum_promise_label(sync, "sync calendar"));
	result = thrum_promise_run(sync);
	done = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_stop();
	printf("%d saved, %d given up\n", saved, given_up);
	thrum_mutex_destroy(collection);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result != 0;
}
