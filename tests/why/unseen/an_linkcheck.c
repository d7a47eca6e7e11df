/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When a host doesn't answer, the probes of the same host that are still queued are cancelled. after_probe
 *     returns early for a cancelled one (UV_ECANCELED) and doesn't count it down; so “left” never becomes 0, and
 *     the repeating timer draw_progress, which stops itself at 0, keeps the loop alive for ever.
 *   culprit: after_probe|draw_progress
 *   victim: main|uv_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A link checker: probes the links of a page in libuv's threads, draws its progress, and prints a summary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define MAX_LINKS 8

enum state {
	QUEUED,
	ALIVE,
	DEAD,
	SKIPPED
};

struct checker;

struct probe {
	uv_work_t work;
	struct checker *checker;
	const char *host;
	const char *path;
	enum state state;
};

struct checker {
	uv_loop_t *loop;
	uv_timer_t progress;
	struct probe probes[MAX_LINKS];
	int n_probes;
	int left;
	int drawn;
};

static const char *const page_healthy[][2] = {
	{"alpha.example", "/"},
	{"beta.example", "/index"},
	{"gamma.example", "/a"},
	{"delta.example", "/"},
	{"beta.example", "/old"},
	{"gamma.example", "/b"},
	{NULL, NULL},
};

static const char *const page_broken[][2] = {
	{"alpha.example", "/"},
	{"gone.example", "/index"},
	{"gamma.example", "/a"},
	{"delta.example", "/"},
	{"gone.example", "/old"},
	{"gamma.example", "/b"},
	{NULL, NULL},
};

/* In a thread of the pool: connect to the host and ask for the path. */
static void probe_link(uv_work_t *work)
{
	struct probe *probe = work->data;

	usleep(200 * 1000);
	probe->state = !strncmp(probe->host, "gone.", 5) ? DEAD : ALIVE;
}

/* No need to probe other paths of a host that is gone. */
static __attribute__((noinline)) void skip_host(struct checker *checker, const char *host)
{
	for (int i = 0; i < checker->n_probes; i++) {
		struct probe *probe = &checker->probes[i];

		if (probe->state == QUEUED && !strcmp(probe->host, host))
			uv_cancel((uv_req_t *)&probe->work);
	}
}

static void after_probe(uv_work_t *work, int status)
{
	struct probe *probe = work->data;
	struct checker *checker = probe->checker;

	if (status == UV_ECANCELED) {
		probe->state = SKIPPED;
		return;
	}
	if (probe->state == DEAD)
		skip_host(checker, probe->host);
	checker->left--;
}

static void draw_progress(uv_timer_t *timer)
{
	struct checker *checker = timer->data;
	const int done = checker->n_probes - checker->left;

	fprintf(stderr, "\r%d of %d", done, checker->n_probes);
	checker->drawn++;
	if (checker->left == 0) {
		fputc('\n', stderr);
		uv_timer_stop(timer);
		uv_close((uv_handle_t *)timer, NULL);
	}
}

static __attribute__((noinline)) int check_page(struct checker *checker,
	const char *const (*page)[2])
{
	for (int i = 0; page[i][0] && i < MAX_LINKS; i++) {
		struct probe *probe = &checker->probes[checker->n_probes];

		probe->checker = checker;
		probe->host = page[i][0];
		probe->path = page[i][1];
		probe->state = QUEUED;
		probe->work.data = probe;
		if (uv_queue_work(checker->loop, &probe->work, probe_link, after_probe) < 0)
			return -1;
		checker->n_probes++;
		checker->left++;
	}
	return 0;
}

static __attribute__((noinline)) int print_summary(const struct checker *checker)
{
	static const char *const names[] = {"queued", "alive", "dead", "skipped"};
	int bad = 0;

	for (int i = 0; i < checker->n_probes; i++) {
		const struct probe *probe = &checker->probes[i];

		printf("%-8s %s%s\n", names[probe->state], probe->host, probe->path);
		bad += probe->state != ALIVE;
	}
	return bad;
}

int main(int argc, char **argv)
{
	static struct checker checker;

	if (argc != 2)
		return 2;
	setenv("UV_THREADPOOL_SIZE", "2", 1);
	checker.loop = uv_default_loop();
	uv_timer_init(checker.loop, &checker.progress);
	checker.progress.data = &checker;
	uv_timer_start(&checker.progress, draw_progress, 100, 100);
	if (check_page(&checker, !strcmp(argv[1], "broken") ? page_broken : page_healthy) < 0)
		return 1;

	uv_run(checker.loop, UV_RUN_DEFAULT);
	return print_summary(&checker) ? 1 : 0;
}
