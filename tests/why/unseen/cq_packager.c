/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: publish_playlist must come after the segment's file is written. At an advertisement (each
 *     fifth segment) the broken run doesn't wait for the write: package_segment begins both at once. So
 *     "publish 5" ends before "write 5", the viewer gets an error for the segment ("get 5" fails) and has
 *     to try again. The fix binds the publication to the end of the write at advertisements, too.
 *   culprit: publish
 *   victim: get #|get [0-9]|view
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A packager of live television: it writes a file for each segment and a playlist. A viewer follows. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	SEGMENTS = 20,
	ADVERTISEMENT = 5, /* each fifth segment */
	SEGMENT_MS = 60,
	SIZE = 4096
};

static struct segment {
	int number;
	bool is_written;
	struct thrum_file *file;
} segments[SEGMENTS + 1];

static struct thrum_condition *published;
static char folder[] = "/tmp/cq_packager.XXXXXX";
static bool broken;
static int last_published, errors;

static struct thrum_promise *nothing(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static void name_segment(char *path, size_t size, int number)
{
	snprintf(path, size, "%s/%d.ts", folder, number);
}

static struct thrum_promise *finish_segment(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;
	char path[64];

	(void)value;
	segment->is_written = true;
	name_segment(path, sizeof(path), segment->number);
	unlink(path); /* the viewer of this program needs no contents */
	thrum_file_close(segment->file);
	return nothing(loop);
}

static struct thrum_promise *write_body(struct thrum_loop *loop, void *value, void *data)
{
	static const char body[SIZE];
	struct segment *segment = data;

	(void)loop;
	(void)value;
	return thrum_file_write(segment->file, thrum_value_static(body), SIZE, 0);
}

static struct thrum_promise *encode(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;
	struct thrum_value file;

	(void)value;
	if (!thrum_loop_take(loop, &file))
		return thrum_promise_fail(loop, -EINVAL, NULL);
	segment->file = file.data;
	return thrum_promise_bind(thrum_sleep(loop, 25), write_body, data, NULL);
}

static struct thrum_promise *write_segment(struct thrum_loop *loop, struct segment *segment)
{
	struct thrum_promise *done;
	char path[64];

	name_segment(path, sizeof(path), segment->number);
	done = thrum_promise_bind(thrum_file_open(loop, path, O_CREAT | O_RDWR, 0600), encode,
		segment, NULL);
	done = thrum_promise_bind(done, finish_segment, segment, NULL);
	return thrum_promise_labelf(done, "write %d", segment->number);
}

static struct thrum_promise *announce(struct thrum_loop *loop, void *value, void *data)
{
	const struct segment *segment = data;

	(void)value;
	last_published = segment->number;
	thrum_condition_broadcast(published, thrum_value_none());
	return nothing(loop);
}

static struct thrum_promise *publish_playlist(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;
	struct thrum_promise *done = thrum_promise_bind(thrum_sleep(loop, 4), announce, segment,
		NULL);

	(void)value;
	return thrum_promise_labelf(done, "publish %d", segment->number);
}

static struct thrum_promise *package_segment(struct thrum_loop *loop, struct segment *segment)
{
	struct thrum_promise *written = write_segment(loop, segment);

	if (broken && segment->number % ADVERTISEMENT == 0)
		return thrum_promise_both(written, publish_playlist(loop, NULL, segment));
	return thrum_promise_bind(written, publish_playlist, segment, NULL);
}

static struct thrum_promise *package(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;

	(void)value;
	if (segment->number > 0)
		thrum_promise_ignore_result(package_segment(loop, segment));
	if (segment->number == SEGMENTS)
		return nothing(loop);
	return thrum_promise_bind(thrum_sleep(loop, SEGMENT_MS), package, segment + 1, NULL);
}

static struct thrum_promise *get_segment(struct thrum_loop *loop, struct segment *segment);

static struct thrum_promise *look(struct thrum_loop *loop, void *value, void *data)
{
	const struct segment *segment = data;

	(void)value;
	if (!segment->is_written)
		return thrum_promise_fail(loop, -ENOENT, "404");
	return nothing(loop);
}

static struct thrum_promise *get_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return get_segment(loop, data);
}

static struct thrum_promise *on_error(struct thrum_loop *loop, const struct thrum_failure *why,
	void *data)
{
	errors += why->code == -ENOENT;
	return thrum_promise_bind(thrum_sleep(loop, 20), get_again, data, NULL);
}

static struct thrum_promise *get_segment(struct thrum_loop *loop, struct segment *segment)
{
	struct thrum_promise *got = thrum_promise_bind(thrum_sleep(loop, 3), look, segment, NULL);

	got = thrum_promise_labelf(got, "get %d", segment->number);
	return thrum_promise_catch(got, on_error, segment, NULL);
}

static struct thrum_promise *view_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *view(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;

	(void)value;
	if (segment - segments > SEGMENTS)
		return nothing(loop);
	if (segment->number > last_published)
		return thrum_promise_bind(thrum_condition_wait(published, NULL), view, segment,
			NULL);
	return thrum_promise_bind(get_segment(loop, segment), view_next, segment, NULL);
}

static struct thrum_promise *view_next(struct thrum_loop *loop, void *value, void *data)
{
	return view(loop, value, (struct segment *)data + 1);
}

int main(int argc, char **argv)
{
	struct thrum_promise *both[2];
	struct thrum_loop *loop;
	int status;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (!mkdtemp(folder))
		return 1;
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	published = thrum_condition_create(loop, "published");
	for (int i = 0; i <= SEGMENTS; i++)
		segments[i].number = i;
	both[0] = thrum_promise_label(package(loop, NULL, &segments[0]), "package");
	both[1] = thrum_promise_label(view(loop, NULL, &segments[1]), "view");
	status = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_join(loop, both, 2)));
	thrum_stop();
	printf("%d errors\n", errors);
	thrum_condition_destroy(published);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	rmdir(folder);
	return status != 0;
}
