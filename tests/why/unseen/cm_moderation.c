/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3000
 *   ask: why
 *   truth: the reviewer takes one comment after the other from the stream. A comment that isn't UTF-8 makes
 *     check_comment fail; nobody handles that in the reviewer's loop (review_next), so the reviewer ends with it.
 *     Comments that come later stay in the stream, and their posts wait for a verdict.
 *   culprit: reviewer|check_comment|review_next|not UTF-8
 *   victim: post
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A blog's comments: readers post them, a reviewer looks at each, and then they appear. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	POSTS = 24,
	BAD = 13
};

struct comment {
	unsigned number;
	const char *text;
	struct thrum_resolver *verdict;
};

struct blog {
	struct thrum_loop *loop;
	struct thrum_stream *comments;
	struct comment comment[POSTS + 1];
	unsigned shown, refused, feeds;
	bool is_closed;
};

static struct blog blog;
static bool broken;

/* ---- The reviewer ---- */

static struct thrum_promise *review_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *approve(struct thrum_loop *loop, void *value, void *data)
{
	struct comment *comment = data;

	(void)value;
	blog.shown++;
	thrum_resolver_resolve(comment->verdict, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *check_comment(struct thrum_loop *loop, struct comment *comment)
{
	struct thrum_promise *looked;

	for (const char *at = comment->text; *at; at++)
		if ((unsigned char)*at == 0xff) {
			blog.refused++;
			thrum_resolver_fail(comment->verdict, 1, "refused");
			return thrum_promise_fail(loop, -EILSEQ, "comment %u is not UTF-8",
				comment->number);
		}
	looked = thrum_promise_labelf(thrum_sleep(loop, 6), "look at comment %u", comment->number);
	return thrum_promise_bind(looked, approve, comment, NULL);
}

static struct thrum_promise *go_on(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	(void)data;
	printf("reviewer: %s\n", failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *wait_for_comment(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_stream_next(blog.comments), review_next, NULL, NULL);
}

static struct thrum_promise *review_next(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *checked;

	(void)data;
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	checked = check_comment(loop, value);
	if (!broken)
		checked = thrum_promise_catch(checked, go_on, NULL, NULL);
	return thrum_promise_bind(checked, wait_for_comment, NULL, NULL);
}

static struct thrum_promise *run_reviewer(struct thrum_loop *loop, void *data)
{
	return wait_for_comment(loop, NULL, data);
}

/* ---- Readers ---- */

static struct thrum_promise *wait_for_verdict(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *verdict = data;

	(void)loop;
	(void)value;
	return verdict;
}

static struct thrum_promise *show_refusal(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	const struct comment *comment = data;

	printf("comment %u is %s\n", comment->number, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *post_comment(unsigned number)
{
	struct comment *comment = &blog.comment[number];
	struct thrum_promise *posted, *verdict;

	comment->number = number;
	comment->text = number == BAD ? "nice \xff weaving" : "nice weaving";
	verdict = thrum_promise_task(blog.loop, "verdict", &comment->verdict);
	posted = thrum_stream_push(blog.comments, thrum_value_static(comment));
	posted = thrum_promise_bind(posted, wait_for_verdict, verdict, NULL);
	posted = thrum_promise_catch(posted, show_refusal, comment, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(posted, "post %u", number));
}

struct visit {
	struct thrum_promise *post[POSTS];
	unsigned count;
};

/* A reader comes every 15 ms. Ends when all posts have ended. */
static struct thrum_promise *next_reader(struct thrum_loop *loop, void *value, void *data)
{
	struct visit *visit = data;

	(void)value;
	if (visit->count == POSTS)
		return thrum_promise_join(loop, visit->post, POSTS);
	visit->post[visit->count] = post_comment(visit->count + 1);
	visit->count++;
	return thrum_promise_bind(thrum_sleep(loop, 15), next_reader, visit, NULL);
}

/* Others only read the feed. */
static struct thrum_promise *read_feed(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (blog.is_closed)
		return thrum_promise_return(loop, thrum_value_none());
	if (++blog.feeds % 10 == 0) {
		printf("%u comments shown\n", blog.shown);
		fflush(stdout);
	}
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 30), "feed"), read_feed,
		data, NULL);
}

static void close_blog(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	blog.is_closed = true;
	thrum_stream_close(blog.comments);
}

int main(int argc, char **argv)
{
	static struct visit visit;
	struct thrum_promise *day;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &blog.loop))
		return 1;
	blog.comments = thrum_stream_create(blog.loop, "comments", 4);
	thrum_promise_async(blog.loop, "reviewer", run_reviewer, NULL, NULL);
	thrum_promise_ignore_result(read_feed(blog.loop, NULL, NULL));
	day = thrum_promise_label(next_reader(blog.loop, NULL, &visit), "day");
	day = thrum_promise_should_resolve(day);
	thrum_promise_on_termination(thrum_promise_ref(day), close_blog, NULL, NULL);
	error = thrum_promise_run(day);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("done: %u shown, %u refused, %d\n", blog.shown, blog.refused, error);
	thrum_stream_destroy(blog.comments);
	thrum_loop_destroy(blog.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
