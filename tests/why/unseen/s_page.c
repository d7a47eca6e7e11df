/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=page
 *   truth: one page is slow because its part "ads" failed three times and slept between the retries (back-off of
 *     40, 80 and 120 ms); its other parts were quick.
 *   culprit: \bads\b|back-off
 *   victim: user|avatar
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A page needs three parts from three services: user, ads, avatar. Failing ads are asked again. */
static bool flaky;
static int page_number;

struct part {
	const char *service;
	int page, tries;
};

static struct thrum_promise *fetch(struct thrum_loop *loop, struct part *part);

static struct thrum_promise *part_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct part *part = data;
	bool ads = !strcmp(part->service, "ads");
	int failures = flaky && part->page == 6 ? 3 : part->page == 3 ? 1 : 0;

	if (ads && part->tries++ < failures)
		return thrum_promise_fail(loop, -EAGAIN, "503 from ads");
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *try_again(struct thrum_loop *loop, void *value, void *data)
{
	return fetch(loop, data);
}

static struct thrum_promise *part_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct part *part = data;
	int pause = flaky ? part->tries * 40 : 2;

	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, pause), "back-off %d",
					  part->tries),
		try_again, part, NULL);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, struct part *part)
{
	struct thrum_promise *answer = thrum_promise_bind(thrum_sleep(loop, 6), part_answer, part,
		NULL);

	return thrum_promise_label(thrum_promise_catch(answer, part_failed, part, NULL),
		part->service);
}

static struct thrum_promise *page(struct thrum_loop *loop, void *value, void *data)
{
	static const char *const services[] = {"user", "ads", "avatar"};
	struct thrum_promise *parts[3], *done;

	if (page_number == 12)
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < 3; i++) {
		struct part *part = calloc(1, sizeof *part);

		*part = (struct part){services[i], page_number, 0};
		parts[i] = fetch(loop, part);
	}
	page_number++;
	done = thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, parts, 3), "page"));
	return thrum_promise_bind(done, page, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	int result;

	flaky = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	result = thrum_promise_run(thrum_promise_bind(thrum_sleep(loop, 1), page, NULL, NULL));
	thrum_stop();
	printf("pages: %d\n", result);
	return result != 0;
}
