/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Pages that want the same picture share one flight. The reader of the page that leads the flight
 *     of avatar/1 leaves, and the download is cancelled. The flight lands only on success, so nobody ends
 *     it, and the pages that joined it wait for ever.
 *   culprit: flight of avatar/1|join_flight
 *   victim: page [59]|page 13|draw_page
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define AVATARS 4
#define PAGES 16

/* A download under way, which several pages share. */
struct flight {
	struct thrum_promise *landed;
	struct thrum_resolver *resolver;
};

static struct flight flights[AVATARS];
static bool tell_failures;
static unsigned drawn, given_up, beats;

struct page {
	unsigned number, avatar;
	struct thrum_promise *promise;
};

static struct page pages[PAGES];

static void land(struct flight *flight)
{
	struct thrum_promise *landed = flight->landed;

	flight->landed = NULL;
	thrum_promise_unref(landed);
}

static void on_downloaded(struct thrum_loop *loop, void *value, void *data)
{
	struct flight *flight = data;
	struct thrum_resolver *resolver = flight->resolver;

	(void)loop;
	land(flight);
	thrum_resolver_resolve(resolver, thrum_value_int(thrum_int(value)));
}

static void on_download_failed(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct flight *flight = data;
	struct thrum_resolver *resolver = flight->resolver;

	(void)loop;
	land(flight);
	thrum_resolver_fail_again(resolver, failure);
}

static struct thrum_value decode(struct thrum_loop *loop, void *value, void *data)
{
	const struct page *page = data;

	(void)loop;
	(void)value;
	return thrum_value_int(4096 + (intptr_t)page->avatar);
}

/* The leader gets the download itself, the others a promise that it has landed. */
static struct thrum_promise *join_flight(struct thrum_loop *loop, struct page *page)
{
	struct flight *flight = &flights[page->avatar];
	struct thrum_promise *download;

	if (flight->landed)
		return thrum_promise_ref(flight->landed);
	flight->landed = thrum_promise_wait(loop, NULL, &flight->resolver);
	thrum_promise_labelf(flight->landed, "flight of avatar/%u", page->avatar);
	download = thrum_promise_map(thrum_sleep(loop, 30), decode, page, NULL);
	thrum_promise_labelf(download, "download avatar/%u", page->avatar);
	if (tell_failures)
		thrum_promise_on_any(thrum_promise_ref(download), on_downloaded, on_download_failed,
			flight, NULL);
	else
		thrum_promise_on_success(thrum_promise_ref(download), on_downloaded, flight, NULL);
	return download;
}

static struct thrum_value count_page(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	drawn++;
	return thrum_value_int(thrum_int(value));
}

/* The leader of the flight has left: try again, unless this page's own reader did. */
static struct thrum_promise *retry_page(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct page *page = data;

	(void)failure;
	if (page->number != 1)
		return thrum_promise_map(join_flight(loop, page), count_page, NULL, NULL);
	given_up++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *draw_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	return thrum_promise_map(join_flight(loop, page), count_page, NULL, NULL);
}

static struct thrum_promise *leave_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	thrum_promise_cancel(page->promise);
	return thrum_promise_return(loop, thrum_value_none());
}

static void on_beat(uv_timer_t *timer)
{
	(void)timer;
	beats++;
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[PAGES + 1];
	struct thrum_loop *loop;
	uv_timer_t beat;
	int status;

	tell_failures = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &beat);
	uv_timer_start(&beat, on_beat, 20, 20);
	for (unsigned i = 0; i < PAGES; i++) {
		struct page *page = &pages[i];
		struct thrum_promise *promise;

		page->number = i;
		page->avatar = i % AVATARS;
		promise = thrum_promise_bind(thrum_sleep(loop, i * 3), draw_page, page, NULL);
		promise = thrum_promise_catch(promise, retry_page, page, NULL);
		thrum_promise_should_resolve(thrum_promise_labelf(promise, "page %u", i));
		page->promise = thrum_promise_ref(promise);
		all[i] = promise;
	}
	all[PAGES] = thrum_promise_bind(thrum_sleep(loop, 20), leave_page, &pages[1], NULL);
	status = thrum_promise_run(thrum_promise_join(loop, all, PAGES + 1));
	thrum_stop();
	printf("%u pages drawn, %u given up, %u beats\n", drawn, given_up, beats);
	return status ? 1 : 0;
}
