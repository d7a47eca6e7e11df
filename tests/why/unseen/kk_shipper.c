/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: send_batch writes to a link that rotate_link has shut; uv_write fails, so batch_sent never runs.
 *   culprit: send_batch|rotate_link
 *   victim: store_batch|credits
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * This program ships batches of samples over a link. It opens a new link after some batches, as its sink
 * has a file for each link. The sampler may have two batches on their way.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define BATCHES 60
#define BATCHES_PER_LINK 7
#define LINKS (BATCHES / BATCHES_PER_LINK + 2)

struct batch {
	uv_write_t write;
	struct batch *next;
	char text[160];
	size_t length;
};

struct link {
	uv_pipe_t pipe;
	uv_shutdown_t shutdown;
	unsigned int batches;
	int far_end;
	pthread_t archiver;
	size_t archived;
};

static bool broken;
static struct link links[LINKS];

/* The loop's thread alone uses these. */
static uv_loop_t loop;
static uv_async_t arrivals;
static struct link *current;

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static struct batch *inbox;
static bool no_more;
static sem_t credits;

static void *archive_link(void *data)
{
	struct link *link = data;
	char text[512];
	ssize_t got;

	while ((got = read(link->far_end, text, sizeof(text))) > 0)
		link->archived += (size_t)got;
	close(link->far_end);
	return NULL;
}

static void open_link(struct link *link)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	link->far_end = ends[1];
	uv_pipe_init(&loop, &link->pipe, 0);
	uv_pipe_open(&link->pipe, ends[0]);
	pthread_create(&link->archiver, NULL, archive_link, link);
	current = link;
}

static void link_shut(uv_shutdown_t *request, int status)
{
	(void)status;
	uv_close((uv_handle_t *)request->handle, NULL);
}

static void rotate_link(void)
{
	struct link *old = current;

	open_link(old + 1);
	uv_shutdown(&old->shutdown, (uv_stream_t *)&old->pipe, link_shut);
}

static void batch_sent(uv_write_t *write, int status)
{
	struct batch *batch = write->data;

	if (status < 0)
		fprintf(stderr, "batch lost: %s\n", uv_strerror(status));
	free(batch);
	sem_post(&credits);
}

static void send_batch(struct batch *batch)
{
	struct link *link = current;
	uv_buf_t buffer = uv_buf_init(batch->text, (unsigned int)batch->length);

	if (link->batches == BATCHES_PER_LINK)
		rotate_link();
	if (!broken)
		link = current;
	link->batches++;
	batch->write.data = batch;
	uv_write(&batch->write, (uv_stream_t *)&link->pipe, &buffer, 1, batch_sent);
}

static void take_arrivals(uv_async_t *async)
{
	struct batch *batch;
	bool is_end;

	pthread_mutex_lock(&inbox_lock);
	batch = inbox;
	inbox = NULL;
	is_end = no_more;
	pthread_mutex_unlock(&inbox_lock);
	while (batch) {
		struct batch *next = batch->next;

		send_batch(batch);
		batch = next;
	}
	if (is_end) {
		uv_shutdown(&current->shutdown, (uv_stream_t *)&current->pipe, link_shut);
		uv_close((uv_handle_t *)async, NULL);
	}
}

static void *run_shipper(void *unused)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

static void store_batch(unsigned int number)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		abort();
	batch->length = (size_t)snprintf(batch->text, sizeof(batch->text),
		"batch=%u load=%u heat=%u\n", number, number % 4, 40 + number % 7);
	sem_wait(&credits);
	pthread_mutex_lock(&inbox_lock);
	batch->next = inbox;
	inbox = batch;
	pthread_mutex_unlock(&inbox_lock);
	uv_async_send(&arrivals);
}

int main(int argc, char **argv)
{
	pthread_t shipper;
	size_t archived = 0;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	sem_init(&credits, 0, 2);
	uv_loop_init(&loop);
	uv_async_init(&loop, &arrivals, take_arrivals);
	open_link(&links[0]);
	pthread_create(&shipper, NULL, run_shipper, NULL);
	for (unsigned int i = 0; i < BATCHES; i++) {
		store_batch(i);
		if (i % 10 == 9)
			usleep(2000);
	}
	sem_wait(&credits);
	sem_wait(&credits);
	pthread_mutex_lock(&inbox_lock);
	no_more = true;
	pthread_mutex_unlock(&inbox_lock);
	uv_async_send(&arrivals);
	pthread_join(shipper, NULL);
	for (struct link *link = links; link <= current; link++) {
		pthread_join(link->archiver, NULL);
		archived += link->archived;
	}
	printf("%zu bytes in %td links\n", archived, current - links + 1);
	return 0;
}
