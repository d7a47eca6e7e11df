/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: finish_archive pushes one end mark for each of the two regular packers, but big folders also have
 *     the packer "extra". So one of the three packers gets no mark and waits in g_async_queue_pop for jobs for
 *     ever.
 *   culprit: \bextra\b|\bpacker \d|pack_files|\bjobs\b|finish_archive
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Packs the files of a folder: a main loop finds them step by step, packers take them from a queue. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define FILES 60
#define BIG 30

struct file {
	int number;
	gsize size;
};

struct archive {
	GMainLoop *loop;
	GPtrArray *packers;
	int regular;
	int found;
	gboolean mark_all;
};

static GAsyncQueue *jobs;
static GMutex totals_lock;
static gsize packed_bytes;
static int packed_files;
static char end_mark;

/* ---- packers ---- */

static gsize pack(const struct file *file)
{
	gsize sum = file->size;

	for (gsize i = 0; i < file->size; i++)
		sum = sum * 31 + i;
	g_usleep(1000);
	return file->size / 2 + (sum & 15);
}

static gpointer pack_files(gpointer data)
{
	(void)data;
	for (;;) {
		struct file *file = g_async_queue_pop(jobs);
		gsize size;

		if ((gpointer)file == &end_mark)
			return NULL;
		size = pack(file);
		g_mutex_lock(&totals_lock);
		packed_bytes += size;
		packed_files++;
		g_mutex_unlock(&totals_lock);
		g_free(file);
	}
}

static void start_packer(struct archive *archive, const char *name)
{
	g_ptr_array_add(archive->packers, g_thread_new(name, pack_files, NULL));
}

/* ---- the main loop ---- */

static gboolean on_tick(gpointer data)
{
	const struct archive *archive = data;

	g_mutex_lock(&totals_lock);
	printf("%d found, %d packed\n", archive->found, packed_files);
	g_mutex_unlock(&totals_lock);
	fflush(stdout);
	return G_SOURCE_CONTINUE;
}

static gboolean find_some(gpointer data)
{
	struct archive *archive = data;

	for (int i = 0; i < 6 && archive->found < FILES; i++) {
		struct file *file = g_new0(struct file, 1);

		file->number = archive->found++;
		file->size = 1000 + (gsize)file->number * 211 % 5000;
		g_async_queue_push(jobs, file);
		if (archive->found == BIG)
			start_packer(archive, "extra");
	}
	if (archive->found < FILES)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(archive->loop);
	return G_SOURCE_REMOVE;
}

static void finish_archive(struct archive *archive)
{
	int marks = archive->mark_all ? (int)archive->packers->len : archive->regular;

	for (int i = 0; i < marks; i++)
		g_async_queue_push(jobs, &end_mark);
	for (guint i = 0; i < archive->packers->len; i++)
		g_thread_join(g_ptr_array_index(archive->packers, i));
	printf("%d files, %zu bytes\n", packed_files, packed_bytes);
}

int main(int argc, char **argv)
{
	struct archive archive = {.regular = 2};
	guint tick;

	if (argc < 2)
		return 2;
	archive.mark_all = !strcmp(argv[1], "healthy");
	archive.loop = g_main_loop_new(NULL, FALSE);
	archive.packers = g_ptr_array_new();
	jobs = g_async_queue_new();
	for (int i = 0; i < archive.regular; i++) {
		char *name = g_strdup_printf("packer %d", i + 1);

		start_packer(&archive, name);
		g_free(name);
	}
	tick = g_timeout_add(20, on_tick, &archive);
	g_timeout_add(8, find_some, &archive);
	g_main_loop_run(archive.loop);
	finish_archive(&archive);
	g_source_remove(tick);
	g_ptr_array_free(archive.packers, TRUE);
	g_async_queue_unref(jobs);
	g_main_loop_unref(archive.loop);
	return 0;
}
