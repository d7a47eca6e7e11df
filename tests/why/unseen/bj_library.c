/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: plan_order puts the index jobs before the decode jobs, so four index_book works fill all threads of
 *     libuv's pool and wait there for decoded pages which only works behind them in the pool's queue could
 *     deliver.
 *   culprit: index_book|index_work|pages_wait|page_decoded
 *   victim: save_catalogue|uv_fs|fs open|decode_book|decode_work
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A library reads its books with the pool of libuv: each is decoded, and indexed when it is. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define BOOKS 6

enum stage {
	STAGE_DECODE,
	STAGE_INDEX
};

struct book {
	int number;
	bool decoded;
	int words;
};

struct job {
	uv_work_t work;
	enum stage stage;
	struct book *book;
};

static struct book books[BOOKS];
static struct job jobs[BOOKS * 2];
static int jobs_left = BOOKS * 2;
static uv_mutex_t pages_lock;
static uv_cond_t page_decoded;
static uv_timer_t ticker;
static uv_fs_t open_catalogue;
static bool catalogue_open;
static bool decodes_first;

static void decode_book(struct book *book)
{
	int words = 0;

	for (int i = 0; i < 30000; i++)
		words += (i ^ book->number) % 3 == 0;
	usleep(2000);
	uv_mutex_lock(&pages_lock);
	book->words = words;
	book->decoded = true;
	uv_cond_broadcast(&page_decoded);
	uv_mutex_unlock(&pages_lock);
}

static void pages_wait(struct book *book)
{
	uv_mutex_lock(&pages_lock);
	while (!book->decoded)
		uv_cond_wait(&page_decoded, &pages_lock);
	uv_mutex_unlock(&pages_lock);
}

static void index_book(struct book *book)
{
	pages_wait(book);
	usleep(1000 + (unsigned)book->words / 100);
}

static void decode_work(uv_work_t *work)
{
	decode_book(((struct job *)work->data)->book);
}

static void index_work(uv_work_t *work)
{
	index_book(((struct job *)work->data)->book);
}

static void finish_if_done(void)
{
	if (jobs_left == 0 && catalogue_open && !uv_is_closing((uv_handle_t *)&ticker))
		uv_close((uv_handle_t *)&ticker, NULL);
}

static void job_done(uv_work_t *work, int status)
{
	struct job *job = work->data;

	if (status == 0 && job->stage == STAGE_INDEX)
		printf("book %d is indexed\n", job->book->number);
	jobs_left--;
	finish_if_done();
}

static void catalogue_opened(uv_fs_t *request)
{
	if (request->result >= 0)
		close((int)request->result);
	uv_fs_req_cleanup(request);
	catalogue_open = true;
	finish_if_done();
}

static void save_catalogue(uv_loop_t *loop)
{
	uv_fs_open(loop, &open_catalogue, "/dev/null", O_WRONLY, 0, catalogue_opened);
}

/* The order in which jobs are given to the pool. */
static int plan_order(const void *left, const void *right)
{
	const struct job *a = left, *b = right;

	if (a->stage != b->stage)
		return decodes_first ? (int)a->stage - (int)b->stage
				     : (int)b->stage - (int)a->stage;
	return a->book->number - b->book->number;
}

static void plan(void)
{
	for (int i = 0; i < BOOKS; i++) {
		books[i].number = i;
		jobs[2 * i].book = &books[i];
		jobs[2 * i].stage = STAGE_DECODE;
		jobs[2 * i + 1].book = &books[i];
		jobs[2 * i + 1].stage = STAGE_INDEX;
	}
	qsort(jobs, BOOKS * 2, sizeof *jobs, plan_order);
}

static void start_jobs(uv_loop_t *loop)
{
	for (int i = 0; i < BOOKS * 2; i++) {
		jobs[i].work.data = &jobs[i];
		uv_queue_work(loop, &jobs[i].work,
			jobs[i].stage == STAGE_DECODE ? decode_work : index_work, job_done);
	}
}

static void show_progress(uv_timer_t *timer)
{
	(void)timer;
	printf("%d jobs left\n", jobs_left);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	decodes_first = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_mutex_init(&pages_lock);
	uv_cond_init(&page_decoded);
	uv_timer_init(loop, &ticker);
	uv_timer_start(&ticker, show_progress, 100, 100);
	plan();
	start_jobs(loop);
	save_catalogue(loop);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	uv_cond_destroy(&page_decoded);
	uv_mutex_destroy(&pages_lock);
	puts("done");
	return 0;
}
