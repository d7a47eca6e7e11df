/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: four render_work block all four threads of libuv's pool in profile_get, where they wait for the
 *     album's colour profile; load_profile asks libuv to open the file, but that request is queued behind
 *     them
 *   culprit: profile_get|render_work
 *   victim: load_profile|on_profile|main|uv_run|start_renders
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * Makes thumbnails of albums in libuv's pool. Each album has a colour profile that is loaded when
 * it is needed.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define ALBUMS 3
#define PICTURES 6

struct album;

struct picture {
	uv_work_t work;
	struct album *album;
	int number;
	unsigned sum;
};

struct album {
	struct maker *maker;
	int number;
	uv_mutex_t lock;
	uv_cond_t loaded;
	bool have_profile;
	bool asked;
	unsigned char profile[256];
	struct picture pictures[PICTURES];
	int next;
	int active;
	int done;
	uv_fs_t request;
	uv_file file;
};

struct maker {
	uv_loop_t *loop;
	uv_async_t want_profile;
	char path[64];
	int at_once;
	struct album albums[ALBUMS];
	int current;
	unsigned total;
};

static void start_renders(struct album *album);

static void profile_get(struct album *album, unsigned char *profile)
{
	uv_mutex_lock(&album->lock);
	if (!album->have_profile && !album->asked) {
		album->asked = true;
		uv_async_send(&album->maker->want_profile);
	}
	while (!album->have_profile)
		uv_cond_wait(&album->loaded, &album->lock);
	memcpy(profile, album->profile, sizeof(album->profile));
	uv_mutex_unlock(&album->lock);
}

static void render_work(uv_work_t *work)
{
	struct picture *picture = work->data;
	unsigned char profile[256];
	unsigned seed = (unsigned)picture->number;

	profile_get(picture->album, profile);
	for (int i = 0; i < 200000; i++)
		picture->sum += profile[rand_r(&seed) % 256];
}

static void render_done(uv_work_t *work, int status)
{
	struct picture *picture = work->data;
	struct album *album = picture->album;
	struct maker *maker = album->maker;

	if (status < 0)
		fprintf(stderr, "picture %d: %s\n", picture->number, uv_strerror(status));
	maker->total += picture->sum & 1;
	album->active--;
	album->done++;
	if (album->done < PICTURES) {
		start_renders(album);
		return;
	}
	if (++maker->current < ALBUMS)
		start_renders(&maker->albums[maker->current]);
	else
		uv_close((uv_handle_t *)&maker->want_profile, NULL);
}

static void start_renders(struct album *album)
{
	while (album->next < PICTURES && album->active < album->maker->at_once) {
		struct picture *picture = &album->pictures[album->next];

		picture->album = album;
		picture->number = album->number * 100 + album->next;
		picture->work.data = picture;
		album->next++;
		album->active++;
		uv_queue_work(album->maker->loop, &picture->work, render_work, render_done);
	}
}

static void on_profile_closed(uv_fs_t *request)
{
	uv_fs_req_cleanup(request);
}

static void on_profile_read(uv_fs_t *request)
{
	struct album *album = request->data;
	ssize_t size = request->result;

	uv_fs_req_cleanup(request);
	if (size != (ssize_t)sizeof(album->profile)) {
		fprintf(stderr, "album %d: bad profile\n", album->number);
		exit(1);
	}
	uv_mutex_lock(&album->lock);
	album->have_profile = true;
	uv_cond_broadcast(&album->loaded);
	uv_mutex_unlock(&album->lock);
	uv_fs_close(album->maker->loop, request, album->file, on_profile_closed);
}

static void on_profile_opened(uv_fs_t *request)
{
	struct album *album = request->data;
	uv_buf_t buffer = uv_buf_init((char *)album->profile, sizeof(album->profile));

	album->file = (uv_file)request->result;
	uv_fs_req_cleanup(request);
	if (album->file < 0) {
		fprintf(stderr, "album %d: %s\n", album->number, uv_strerror(album->file));
		exit(1);
	}
	uv_fs_read(album->maker->loop, request, album->file, &buffer, 1, 0, on_profile_read);
}

static void load_profile(uv_async_t *async)
{
	struct maker *maker = async->data;
	struct album *album = &maker->albums[maker->current];

	album->request.data = album;
	uv_fs_open(maker->loop, &album->request, maker->path, O_RDONLY, 0, on_profile_opened);
}

static int make_profile_file(struct maker *maker)
{
	unsigned char bytes[256];
	int file;

	strcpy(maker->path, "/tmp/ax_thumbs.XXXXXX");
	file = mkstemp(maker->path);
	if (file < 0)
		return -1;
	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)(255 - i);
	if (write(file, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		return -1;
	/* the name stays valid when the file is unlinked, and nothing is left behind */
	unlink(maker->path);
	snprintf(maker->path, sizeof(maker->path), "/proc/self/fd/%d", file);
	return file;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct maker maker;
	int file;

	setenv("UV_THREADPOOL_SIZE", "4", 1);
	maker.loop = uv_default_loop();
	maker.at_once = !strcmp(mode, "broken") ? PICTURES : 3;
	file = make_profile_file(&maker);
	if (file < 0)
		return 2;
	uv_async_init(maker.loop, &maker.want_profile, load_profile);
	maker.want_profile.data = &maker;
	for (int i = 0; i < ALBUMS; i++) {
		maker.albums[i].maker = &maker;
		maker.albums[i].number = i + 1;
		uv_mutex_init(&maker.albums[i].lock);
		uv_cond_init(&maker.albums[i].loaded);
	}
	start_renders(&maker.albums[0]);
	uv_run(maker.loop, UV_RUN_DEFAULT);
	uv_loop_close(maker.loop);
	close(file);
	printf("%d albums, %u odd\n", maker.current, maker.total);
	return maker.current == ALBUMS ? 0 : 1;
}
