/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reload_config opens a new statsd socket and forgets the old one, which stays open and is read.
 *          shut_down closes only the new one, so the old one keeps the loop alive, and it never exits.
 *   culprit: (open_statsd|on_statsd_packet|reload_config)
 *   victim: uv_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* A metrics exporter: takes statsd packets, is scraped, reloads its configuration, and ends. */
#define SCRAPES 24

struct statsd {
	uv_udp_t udp;
	struct sockaddr_in address;
	int packets;
};

struct sender {
	uv_udp_send_t request;
	char text[48];
};

static uv_loop_t *loop;
static struct statsd *statsd;
static uv_udp_t source;
static uv_timer_t scrape_timer, source_timer;
static uv_signal_t hangup;
static int scrapes, packets, reloads;
static bool healthy;

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	static char space[2048];

	(void)handle, (void)size;
	*buf = uv_buf_init(space, sizeof space);
}

static void on_statsd_packet(uv_udp_t *udp, ssize_t size, const uv_buf_t *buf,
	const struct sockaddr *from, unsigned flags)
{
	struct statsd *self = udp->data;

	(void)buf, (void)flags;
	if (size > 0 && from) {
		self->packets++;
		packets++;
	}
}

static struct statsd *open_statsd(void)
{
	struct statsd *self = calloc(1, sizeof *self);
	int length = sizeof self->address;

	uv_ip4_addr("127.0.0.1", 0, &self->address);
	uv_udp_init(loop, &self->udp);
	self->udp.data = self;
	uv_udp_bind(&self->udp, (struct sockaddr *)&self->address, 0);
	uv_udp_getsockname(&self->udp, (struct sockaddr *)&self->address, &length);
	uv_udp_recv_start(&self->udp, on_alloc, on_statsd_packet);
	return self;
}

static void on_statsd_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_statsd(struct statsd *self)
{
	uv_close((uv_handle_t *)&self->udp, on_statsd_closed);
}

static void reload_config(uv_signal_t *handle, int number)
{
	struct statsd *old = statsd;

	(void)handle, (void)number;
	reloads++;
	statsd = open_statsd();
	if (healthy)
		close_statsd(old);
}

static void on_sent(uv_udp_send_t *request, int status)
{
	(void)status;
	free(request->data);
}

static void send_sample(uv_timer_t *timer)
{
	struct sender *sender = calloc(1, sizeof *sender);
	uv_buf_t buf;

	(void)timer;
	snprintf(sender->text, sizeof sender->text, "web.requests:%d|c", packets + 1);
	sender->request.data = sender;
	buf = uv_buf_init(sender->text, strlen(sender->text));
	uv_udp_send(&sender->request, &source, &buf, 1, (struct sockaddr *)&statsd->address,
		on_sent);
}

static void shut_down(void)
{
	printf("exporter: shutting down after %d scrapes, %d packets, %d reloads\n", scrapes,
		packets, reloads);
	fflush(stdout);
	uv_close((uv_handle_t *)&scrape_timer, NULL);
	uv_close((uv_handle_t *)&source_timer, NULL);
	uv_close((uv_handle_t *)&hangup, NULL);
	uv_close((uv_handle_t *)&source, NULL);
	close_statsd(statsd);
}

static void write_page(uv_work_t *work)
{
	volatile unsigned sum = 0;

	for (int i = 0; i < 200000; i++)
		sum += i * (unsigned)(size_t)work->data;
}

static void on_page_written(uv_work_t *work, int status)
{
	(void)status;
	free(work);
}

static void scrape(uv_timer_t *timer)
{
	uv_work_t *work;

	(void)timer;
	if (scrapes == SCRAPES) {
		shut_down();
		return;
	}
	scrapes++;
	work = calloc(1, sizeof *work);
	uv_queue_work(loop, work, write_page, on_page_written);
	if (scrapes == SCRAPES / 2)
		kill(getpid(), SIGHUP); /* the administrator changed the file */
}

int main(int argc, char **argv)
{
	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	loop = uv_default_loop();
	statsd = open_statsd();
	uv_udp_init(loop, &source);
	uv_timer_init(loop, &scrape_timer);
	uv_timer_init(loop, &source_timer);
	uv_signal_init(loop, &hangup);
	uv_signal_start(&hangup, reload_config, SIGHUP);
	uv_timer_start(&source_timer, send_sample, 1, 3);
	uv_timer_start(&scrape_timer, scrape, 5, 7);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	printf("exporter: gone\n");
	return 0;
}
