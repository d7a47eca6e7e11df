/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_deadline cancels the jobs that the pool hasn't begun (drop_pending, uv_cancel); their callback
 *     on_hashed gets UV_ECANCELED and returns early without counting them as finished, so the batch never
 *     ends and nobody closes the signal watcher and the control pipe: the loop in main waits for ever
 *   culprit: on_hashed|drop_pending|on_deadline
 *   victim: main|control|signal|batch_done
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A backup tool hashes files in libuv's thread pool; after a deadline it goes on without the rest. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum {
	FILES = 16,
	BATCHES = 2
};

struct batch;

struct hash_job {
	uv_work_t work;
	struct batch *batch;
	int number;
	unsigned hash;
	bool finished;
};

struct batch {
	struct hash_job jobs[FILES];
	int pending, hashed, skipped;
	uv_timer_t deadline;
	uint64_t patience;
};

struct backup {
	uv_loop_t *loop;
	uv_signal_t interrupt;
	uv_pipe_t control; /* somebody may ask for the progress */
	int far_end;
	struct batch batches[BATCHES];
	int running;
	bool counts_cancelled;
};

static struct backup backup;

static void batch_start(struct batch *batch);

static void hash_file(uv_work_t *work)
{
	struct hash_job *job = (struct hash_job *)work;
	struct timespec time = {0, 20000000};

	nanosleep(&time, NULL); /* the disk */
	job->hash = 2654435761u * (unsigned)(job->number + 1);
}

static void close_all(void)
{
	uv_close((uv_handle_t *)&backup.interrupt, NULL);
	uv_close((uv_handle_t *)&backup.control, NULL);
}

static void batch_done(struct batch *batch)
{
	printf("batch %d: %d hashed, %d skipped\n", backup.running, batch->hashed, batch->skipped);
	uv_close((uv_handle_t *)&batch->deadline, NULL);
	if (++backup.running < BATCHES)
		batch_start(&backup.batches[backup.running]);
	else
		close_all();
}

static void on_hashed(uv_work_t *work, int status)
{
	struct hash_job *job = (struct hash_job *)work;
	struct batch *batch = job->batch;

	if (status == UV_ECANCELED) {
		batch->skipped++;
		if (!backup.counts_cancelled)
			return;
	} else {
		batch->hashed++;
	}
	job->finished = true;
	if (--batch->pending == 0)
		batch_done(batch);
}

/* Takes back all jobs that no thread has begun. */
static void drop_pending(struct batch *batch)
{
	for (int i = FILES - 1; i >= 0; i--)
		if (!batch->jobs[i].finished)
			uv_cancel((uv_req_t *)&batch->jobs[i].work);
}

static void on_deadline(uv_timer_t *timer)
{
	drop_pending(timer->data);
}

static void batch_start(struct batch *batch)
{
	batch->pending = FILES;
	uv_timer_init(backup.loop, &batch->deadline);
	batch->deadline.data = batch;
	uv_timer_start(&batch->deadline, on_deadline, batch->patience, 0);
	for (int i = 0; i < FILES; i++) {
		struct hash_job *job = &batch->jobs[i];

		job->batch = batch;
		job->number = i;
		if (uv_queue_work(backup.loop, &job->work, hash_file, on_hashed))
			exit(1);
	}
}

static void on_interrupt(uv_signal_t *signal, int number)
{
	(void)number;
	uv_signal_stop(signal);
	drop_pending(&backup.batches[backup.running]);
}

static void on_allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char room[256];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(room, sizeof(room));
}

static void on_control(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	char text[64];
	uv_buf_t answer = uv_buf_init(text, 0);

	(void)buffer;
	if (size <= 0)
		return;
	answer.len = (size_t)snprintf(text, sizeof(text), "%d hashed\n",
		backup.batches[backup.running].hashed);
	uv_try_write(stream, &answer, 1);
}

int main(int argc, char **argv)
{
	int ends[2];

	backup.counts_cancelled = argc > 1 && !strcmp(argv[1], "healthy");
	backup.loop = uv_default_loop();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return 1;
	backup.far_end = ends[1];
	uv_pipe_init(backup.loop, &backup.control, 0);
	uv_pipe_open(&backup.control, ends[0]);
	uv_read_start((uv_stream_t *)&backup.control, on_allocate, on_control);
	uv_signal_init(backup.loop, &backup.interrupt);
	uv_signal_start(&backup.interrupt, on_interrupt, SIGTERM);
	if (write(backup.far_end, "?", 1) != 1)
		return 1;
	backup.batches[0].patience = 2000; /* enough for all */
	backup.batches[1].patience = 50;
	batch_start(&backup.batches[0]);
	uv_run(backup.loop, UV_RUN_DEFAULT);
	close(backup.far_end);
	printf("%d batches\n", backup.running);
	return uv_loop_close(backup.loop) ? 1 : 0;
}
