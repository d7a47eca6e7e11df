/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_findings takes one finding for each call, but libuv merges several uv_async_send calls into one
 *     callback; so findings stay in the queue, and the report that waits for all of them is never written.
 *   culprit: on_findings|async
 *   victim: show_status|listener
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A scanner: threads look at hosts and send findings to the loop, which writes a report at the end. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define SCANNERS 2
#define HOSTS 4

struct finding {
	struct finding *next;
	int scanner;
	int host;
	int ports;
};

struct scanner {
	uv_thread_t thread;
	int number;
};

static uv_mutex_t queue_lock;
static struct finding *queue_first;
static struct finding **queue_end = &queue_first;
static uv_async_t findings;
static uv_timer_t status;
static uv_sem_t first_round;
static struct scanner scanners[SCANNERS];
static int received;
static long open_ports;
static bool takes_all;

static void finding_send(struct finding *finding)
{
	uv_mutex_lock(&queue_lock);
	*queue_end = finding;
	queue_end = &finding->next;
	uv_mutex_unlock(&queue_lock);
	uv_async_send(&findings);
}

static struct finding *finding_take(void)
{
	struct finding *finding;

	uv_mutex_lock(&queue_lock);
	finding = queue_first;
	if (finding) {
		queue_first = finding->next;
		if (!queue_first)
			queue_end = &queue_first;
	}
	uv_mutex_unlock(&queue_lock);
	return finding;
}

static int probe(int scanner, int host)
{
	int open = 0;

	for (int port = 1; port < 4000; port++)
		open += (port * 31 + host * 7 + scanner) % 997 == 0;
	usleep(500);
	return open;
}

static void scan(void *data)
{
	struct scanner *self = data;

	for (int host = 0; host < HOSTS; host++) {
		struct finding *finding = calloc(1, sizeof *finding);

		finding->scanner = self->number;
		finding->host = host;
		finding->ports = probe(self->number, host);
		finding_send(finding);
		if (host == 1)
			uv_sem_post(&first_round);
		if (host >= 1)
			usleep(20000);
	}
}

static void write_report(void)
{
	printf("%d findings, %ld open ports\n", received, open_ports);
	for (int i = 0; i < SCANNERS; i++)
		uv_thread_join(&scanners[i].thread);
	uv_close((uv_handle_t *)&findings, NULL);
	uv_close((uv_handle_t *)&status, NULL);
}

static void finding_add(struct finding *finding)
{
	open_ports += finding->ports;
	received++;
	free(finding);
}

static void on_findings(uv_async_t *async)
{
	struct finding *finding;

	(void)async;
	while ((finding = finding_take())) {
		finding_add(finding);
		if (received == SCANNERS * HOSTS)
			write_report();
		if (!takes_all)
			break;
	}
}

static void show_status(uv_timer_t *timer)
{
	(void)timer;
	printf("%d of %d\n", received, SCANNERS * HOSTS);
}

/* The loop begins when each scanner knows that its network can be reached. */
static void wait_for_first_round(void)
{
	for (int i = 0; i < SCANNERS; i++)
		uv_sem_wait(&first_round);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	takes_all = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_mutex_init(&queue_lock);
	uv_sem_init(&first_round, 0);
	uv_async_init(loop, &findings, on_findings);
	uv_timer_init(loop, &status);
	uv_timer_start(&status, show_status, 100, 100);
	for (int i = 0; i < SCANNERS; i++) {
		scanners[i].number = i;
		uv_thread_create(&scanners[i].thread, scan, &scanners[i]);
	}
	wait_for_first_round();
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	uv_sem_destroy(&first_round);
	uv_mutex_destroy(&queue_lock);
	puts("done");
	return 0;
}
