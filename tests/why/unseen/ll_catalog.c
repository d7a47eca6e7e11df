/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_catalog_opened only logs that pt_BR can't be opened. It should have called done with the error.
 *   culprit: on_catalog_opened|pt_BR
 *   victim: turn_wheel|uv_run|catalogs_left
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

typedef void catalog_cb(const char *language, int status, const char *text);

struct load {
	uv_fs_t fs;
	char language[8];
	uv_file file;
	char text[512];
	uv_work_t parse;
	unsigned words;
	catalog_cb *done;
};

static const char *const languages[] = {"de", "fr", "it", "nl", "pt_BR", "sv"};
#define N_LANGUAGES (int)(sizeof(languages) / sizeof(*languages))

static uv_timer_t wheel;
static char directory[] = "/tmp/catalogXXXXXX";
static int catalogs_left = N_LANGUAGES;
static int catalogs_bad;
static bool careful;

static void on_catalog_closed(uv_fs_t *fs)
{
	struct load *load = fs->data;
	uv_fs_req_cleanup(fs);
	load->done(load->language, 0, load->text);
	free(load);
}

static void parse_catalog(uv_work_t *work)
{
	struct load *load = work->data;
	for (const char *at = load->text; *at; at++)
		load->words += *at == ' ';
	usleep(30000 + load->language[0] % 8 * 3000); /* Sort the messages. */
}

static void on_catalog_parsed(uv_work_t *work, int status)
{
	struct load *load = work->data;
	(void)status;
	uv_fs_close(work->loop, &load->fs, load->file, on_catalog_closed);
}

static void on_catalog_read(uv_fs_t *fs)
{
	struct load *load = fs->data;
	if (fs->result >= 0)
		load->text[fs->result] = '\0';
	uv_fs_req_cleanup(fs);
	uv_queue_work(fs->loop, &load->parse, parse_catalog, on_catalog_parsed);
}

static void on_catalog_opened(uv_fs_t *fs)
{
	struct load *load = fs->data;
	int result = (int)fs->result;
	uv_fs_req_cleanup(fs);
	if (result < 0) {
		fprintf(stderr, "catalog %s: %s\n", load->language, uv_strerror(result));
		if (careful)
			load->done(load->language, result, NULL);
		free(load);
		return;
	}
	load->file = result;
	uv_buf_t buffer = uv_buf_init(load->text, sizeof(load->text) - 1);
	uv_fs_read(fs->loop, fs, load->file, &buffer, 1, 0, on_catalog_read);
}

static void load_catalog(uv_loop_t *loop, const char *language, catalog_cb *done)
{
	char path[128];
	struct load *load = calloc(1, sizeof(*load));
	if (!load)
		abort();
	load->fs.data = load->parse.data = load;
	load->done = done;
	snprintf(load->language, sizeof(load->language), "%s", language);
	snprintf(path, sizeof(path), "%s/%s.msg", directory, language);
	uv_fs_open(loop, &load->fs, path, O_RDONLY, 0, on_catalog_opened);
}

static void on_catalog(const char *language, int status, const char *text)
{
	printf("%s: %s\n", language, status < 0 ? "none" : text);
	catalogs_bad += status < 0;
	if (--catalogs_left == 0) {
		uv_timer_stop(&wheel);
		printf("menu shown, %d catalogs bad\n", catalogs_bad);
	}
}

static void turn_wheel(uv_timer_t *timer)
{
	static int turns;
	(void)timer;
	fprintf(stderr, "\r%c", "|/-\\"[turns++ % 4]);
}

static void write_catalogs(void)
{
	if (!mkdtemp(directory))
		abort();
	for (int i = 0; i < N_LANGUAGES; i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s.msg", directory, languages[i]);
		FILE *file = i == 4 ? NULL
				    : fopen(path, "w"); /* The translator of pt_BR is late. */
		if (file) {
			fprintf(file, "hello in %s", languages[i]);
			fclose(file);
		}
	}
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	write_catalogs();
	uv_timer_init(loop, &wheel);
	uv_timer_start(&wheel, turn_wheel, 10, 40);
	for (int i = 0; i < N_LANGUAGES; i++)
		load_catalog(loop, languages[i], on_catalog);
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
