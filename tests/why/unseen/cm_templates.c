/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: find_template compares the addresses of the names instead of their letters. So no template is ever found
 *     in the cache, and each page opens, reads and closes its template's file again (load_template).
 *   culprit: load_template|find_template|\.tpl|on_opened|on_read
 *   victim: render_page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Renders pages from templates on libuv: a template is read once, and kept. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum {
	PAGES = 45,
	KINDS = 3,
	CACHE = 64,
	BYTES = 256
};

struct template
{
	char *name;
	char text[BYTES];
};

struct page {
	unsigned number;
	char template_name[32];
	char html[BYTES + 64];
	char file_name[32];
	struct template *loading;
	uv_fs_t request;
	uv_buf_t buffer;
	int file;
};

static const char *const kinds[KINDS] = {"article", "gallery", "index"};

static uv_loop_t *loop;
static uv_timer_t visitors, statistics;
static struct template cache[CACHE];
static unsigned cached, visited, rendered;
static bool broken;

static struct template *find_template(const char *name)
{
	for (unsigned i = 0; i < cached; i++)
		if (broken ? cache[i].name == name : strcmp(cache[i].name, name) == 0)
			return &cache[i];
	return NULL;
}

/* ---- A page is written to its file ---- */

static void on_page_closed(uv_fs_t *request)
{
	struct page *page = request->data;

	uv_fs_req_cleanup(request);
	if (++rendered == PAGES)
		uv_timer_stop(&statistics);
	free(page);
}

static void on_page_written(uv_fs_t *request)
{
	struct page *page = request->data;

	uv_fs_req_cleanup(request);
	uv_fs_close(loop, request, page->file, on_page_closed);
}

static void on_page_open(uv_fs_t *request)
{
	struct page *page = request->data;

	page->file = (int)request->result;
	uv_fs_req_cleanup(request);
	if (page->file < 0)
		abort();
	page->buffer = uv_buf_init(page->html, (unsigned)strlen(page->html));
	uv_fs_write(loop, request, page->file, &page->buffer, 1, 0, on_page_written);
}

static void render_page(struct page *page, const struct template *template)
{
	snprintf(page->html, sizeof(page->html), "<!-- page %u -->\n%s", page->number,
		template->text);
	snprintf(page->file_name, sizeof(page->file_name), "page%u.html", page->number % 5);
	uv_fs_open(loop, &page->request, page->file_name, O_WRONLY | O_CREAT | O_TRUNC, 0644,
		on_page_open);
}

/* ---- A template is loaded ---- */

static void on_closed(uv_fs_t *request)
{
	struct page *page = request->data;

	uv_fs_req_cleanup(request);
	render_page(page, page->loading);
}

static void on_read(uv_fs_t *request)
{
	struct page *page = request->data;

	uv_fs_req_cleanup(request);
	uv_fs_close(loop, request, page->file, on_closed);
}

static void on_opened(uv_fs_t *request)
{
	struct page *page = request->data;

	page->file = (int)request->result;
	uv_fs_req_cleanup(request);
	if (page->file < 0)
		abort();
	page->buffer = uv_buf_init(page->loading->text, BYTES - 1);
	uv_fs_read(loop, request, page->file, &page->buffer, 1, 0, on_read);
}

static void load_template(struct page *page)
{
	page->loading = &cache[cached++ % CACHE];
	page->loading->name = strdup(page->template_name);
	uv_fs_open(loop, &page->request, page->template_name, O_RDONLY, 0, on_opened);
}

/* ---- Visitors ---- */

static void serve_page(void)
{
	struct page *page = calloc(1, sizeof(*page));
	struct template *template;

	if (!page)
		abort();
	page->number = visited++;
	page->request.data = page;
	snprintf(page->template_name, sizeof(page->template_name), "%s.tpl",
		kinds[page->number % KINDS]);
	template = find_template(page->template_name);
	if (template)
		render_page(page, template);
	else
		load_template(page);
}

static void on_visitor(uv_timer_t *timer)
{
	serve_page();
	if (visited == PAGES)
		uv_timer_stop(timer);
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	printf("%u pages\n", rendered);
}

static void write_templates(void)
{
	for (unsigned i = 0; i < KINDS; i++) {
		char name[32];
		FILE *file;

		snprintf(name, sizeof(name), "%s.tpl", kinds[i]);
		file = fopen(name, "w");
		if (!file)
			abort();
		fprintf(file, "<h1>%s</h1>\n", kinds[i]);
		fclose(file);
	}
}

static void remove_files(const char *folder)
{
	char name[32];

	for (unsigned i = 0; i < KINDS; i++) {
		snprintf(name, sizeof(name), "%s.tpl", kinds[i]);
		unlink(name);
	}
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "page%u.html", i);
		unlink(name);
	}
	if (chdir("/") == 0)
		rmdir(folder);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/pages.XXXXXX";

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	write_templates();
	loop = uv_default_loop();
	uv_timer_init(loop, &visitors);
	uv_timer_start(&visitors, on_visitor, 10, 20);
	uv_timer_init(loop, &statistics);
	uv_timer_start(&statistics, on_statistics, 200, 200);
	uv_run(loop, UV_RUN_DEFAULT);
	remove_files(folder);
	printf("done: %u pages, %u templates\n", rendered, cached);
	return 0;
}
