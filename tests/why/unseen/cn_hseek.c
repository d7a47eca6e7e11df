/* SPDX-License-Identifier: ISC */
/*
 * After samtools/htslib #648.
 *
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: When load_block_from_cache finds a block in the cache, it calls hseek, so that the file stands behind that block.
 *     For a remote file libcurl_seek drops the connection and makes a new "range request" each time, for data that
 *     nobody reads: three for most regions, where the healthy program makes none. The fix only notes the position, and
 *     libcurl_read makes a request when it has to.
 *   culprit: range request|libcurl_seek|load_block_from_cache|hseek
 *   victim: region
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Two viewers of genomes step through a remote file, region by region; each keeps the blocks that it has read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	VIEWERS = 2,
	REGIONS = 32,
	PER_CHROMOSOME = 8,
	BLOCKS_OF_REGION = 4,
	BLOCKS = 128
};
enum {
	REQUEST_MS = 6,
	READ_MS = 2,
	LOOK_MS = 3
};

struct file {
	int position;     /* the block at which the connection is; -1: none yet */
	int delayed_seek; /* the block at which the next read begins; -1: where the connection is */
	int requests;
};

struct viewer {
	struct file file;
	bool cached[BLOCKS];
	int region;
	int block, end; /* of the region */
	int looked_at;
};

static bool broken;
static struct thrum_loop *loop;
static struct viewer viewers[VIEWERS];
static int requests, reads, hits;

/* ---- The remote file ------------------------------------------------------------------------ */

static struct thrum_promise *restart(struct file *file, int block)
{
	file->position = block;
	file->delayed_seek = -1;
	requests++;
	return thrum_promise_labelf(thrum_sleep(loop, REQUEST_MS), "range request %d",
		++file->requests);
}

static struct thrum_promise *libcurl_seek(struct file *file, int block)
{
	if (broken)
		return restart(file, block);
	file->delayed_seek = block;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *read_on(struct thrum_loop *own, void *value, void *data)
{
	struct file *file = data;

	(void)value;
	reads++;
	return thrum_promise_labelf(thrum_sleep(own, READ_MS), "read block %d", file->position++);
}

static struct thrum_promise *libcurl_read(struct file *file)
{
	int block = file->delayed_seek;

	file->delayed_seek = -1;
	if (block >= 0 && block != file->position)
		return thrum_promise_bind(restart(file, block), read_on, file, NULL);
	return read_on(loop, NULL, file);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static struct thrum_promise *hseek(struct file *file, int block)
{
	return libcurl_seek(file, block);
}

static struct thrum_promise *load_block_from_cache(struct viewer *viewer, int block)
{
	hits++;
	return hseek(&viewer->file, block + 1);
}

static struct thrum_promise *load_block(struct viewer *viewer, int block)
{
	if (viewer->cached[block])
		return load_block_from_cache(viewer, block);
	viewer->cached[block] = true;
	return libcurl_read(&viewer->file);
}

/* ---- Regions -------------------------------------------------------------------------------- */

static struct thrum_promise *load_next(struct thrum_loop *own, void *value, void *data)
{
	struct viewer *viewer = data;

	(void)value;
	if (viewer->block == viewer->end)
		return thrum_promise_return(own, thrum_value_none());
	return thrum_promise_bind(load_block(viewer, viewer->block++), load_next, viewer, NULL);
}

/* A region begins one block after the one before, but for the first of a chromosome. */
static struct thrum_promise *load_region(struct viewer *viewer)
{
	bool is_first = viewer->region % PER_CHROMOSOME == 0;
	struct thrum_promise *region;
	int chromosome = viewer->region / PER_CHROMOSOME;

	viewer->block = chromosome * 2 * PER_CHROMOSOME + viewer->region % PER_CHROMOSOME;
	viewer->end = viewer->block + BLOCKS_OF_REGION;
	viewer->region++;
	if (is_first)
		region = thrum_promise_bind(restart(&viewer->file, viewer->block), load_next,
			viewer, NULL);
	else
		region = load_next(loop, NULL, viewer);
	region = thrum_promise_labelf(region, "region %d", viewer->region);
	thrum_promise_should_resolve(region);
	return region;
}

static struct thrum_promise *view_next(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *look(struct thrum_loop *own, void *value, void *data)
{
	struct viewer *viewer = data;

	(void)value;
	viewer->looked_at++;
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(own, LOOK_MS), "look at %d",
					  viewer->looked_at),
		view_next, viewer, NULL);
}

static struct thrum_promise *view_next(struct thrum_loop *own, void *value, void *data)
{
	struct viewer *viewer = data;

	(void)value;
	if (viewer->region == REGIONS)
		return thrum_promise_return(own, thrum_value_none());
	return thrum_promise_bind(load_region(viewer), look, viewer, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[VIEWERS], *session;
	int code;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	for (int i = 0; i < VIEWERS; i++) {
		viewers[i].file.position = viewers[i].file.delayed_seek = -1;
		all[i] = thrum_promise_labelf(view_next(loop, NULL, &viewers[i]), "viewer %d",
			i + 1);
	}
	session = thrum_promise_label(thrum_promise_join(loop, all, VIEWERS), "session");
	thrum_promise_should_resolve(session);
	code = thrum_promise_run(session);
	thrum_stop();
	printf("%d requests, %d reads, %d hits\n", requests, reads, hits);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code ? 1 : 0;
}
