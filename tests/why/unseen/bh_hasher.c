/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: a thread of the program's own computes hashes and tells the loop of each by uv_async_send.
 *     Several of these become one call of on_hashed, which takes only one hash from the list of finished
 *     ones. The rest stays in the list, and the peer that asked for it gets no answer.
 *   culprit: on_hashed|async
 *   victim: ask_hashes|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	IN_FLIGHT = 6
};

struct job {
	struct job *next;
	uint32_t number, hash;
};

struct list {
	struct job *first, **last;
};

static uv_loop_t *loop;
static uv_async_t hashed;
static uv_pipe_t peer;
static uv_mutex_t mutex;
static uv_cond_t changed;
static struct list to_hash, finished;
static bool take_all;
static char input[256];
static size_t have;

static void list_add(struct list *list, struct job *job)
{
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static struct job *list_take(struct list *list)
{
	struct job *job = list->first;

	if (job && !(list->first = job->next))
		list->last = &list->first;
	return job;
}

/* ---- The thread that computes ---- */

static void run_hasher(void *data)
{
	(void)data;
	uv_mutex_lock(&mutex);
	for (;;) {
		struct job *job;

		while (!(job = list_take(&to_hash)))
			uv_cond_wait(&changed, &mutex);
		uv_mutex_unlock(&mutex);
		job->hash = 2166136261;
		for (uint32_t i = 0; i < 3000; i++)
			job->hash = (job->hash ^ (job->number + i)) * 16777619;
		uv_mutex_lock(&mutex);
		list_add(&finished, job);
		uv_async_send(&hashed);
	}
}

/* ---- The loop ---- */

static void on_written(uv_write_t *request, int status)
{
	if (status)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
	free(request->data);
	free(request);
}

static void answer(struct job *job)
{
	uv_write_t *request = malloc(sizeof *request);
	uv_buf_t buffer = uv_buf_init((char *)&job->hash, sizeof job->hash);

	if (!request)
		abort();
	request->data = job;
	if (uv_write(request, (uv_stream_t *)&peer, &buffer, 1, on_written))
		abort();
}

static void on_hashed(uv_async_t *handle)
{
	struct job *job;

	(void)handle;
	do {
		uv_mutex_lock(&mutex);
		job = list_take(&finished);
		uv_mutex_unlock(&mutex);
		if (job)
			answer(job);
	} while (job && take_all);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(input + have, (unsigned)(sizeof input - have));
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	size_t used = 0;

	(void)buffer;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	have += (size_t)size;
	uv_mutex_lock(&mutex);
	for (; have - used >= sizeof(uint32_t); used += sizeof(uint32_t)) {
		struct job *job = calloc(1, sizeof *job);

		if (!job)
			abort();
		memcpy(&job->number, input + used, sizeof job->number);
		list_add(&to_hash, job);
	}
	uv_cond_signal(&changed);
	uv_mutex_unlock(&mutex);
	memmove(input, input + used, have - used);
	have -= used;
}

/* ---- The peer ---- */

static void ask_hashes(void *data)
{
	int end = (int)(intptr_t)data;
	uint32_t numbers[IN_FLIGHT], hash = 0;

	for (uint32_t round = 0;; round++) {
		/* Begins slowly. */
		uint32_t count = round < 100 ? 1 : IN_FLIGHT;

		for (uint32_t i = 0; i < count; i++)
			numbers[i] = round * IN_FLIGHT + i;
		if (write(end, numbers, count * sizeof *numbers) !=
			(ssize_t)(count * sizeof *numbers))
			return;
		for (uint32_t i = 0; i < count; i++)
			if (recv(end, &hash, sizeof hash, MSG_WAITALL) != sizeof hash)
				return;
		if (round % 100 == 99)
			fprintf(stderr, "round %u: %08x\n", round, hash);
		uv_sleep(2);
	}
}

int main(int count, char **arguments)
{
	uv_thread_t hasher, asker;
	int ends[2];

	take_all = count < 2 || strcmp(arguments[1], "broken");
	to_hash.last = &to_hash.first;
	finished.last = &finished.first;
	loop = uv_default_loop();
	if (uv_mutex_init(&mutex) || uv_cond_init(&changed) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (uv_async_init(loop, &hashed, on_hashed) || uv_pipe_init(loop, &peer, 0) ||
		uv_pipe_open(&peer, ends[0]))
		return 1;
	if (uv_read_start((uv_stream_t *)&peer, on_alloc, on_question))
		return 1;
	if (uv_thread_create(&hasher, run_hasher, NULL) ||
		uv_thread_create(&asker, ask_hashes, (void *)(intptr_t)ends[1]))
		return 1;
	return uv_run(loop, UV_RUN_DEFAULT);
}
