/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: on_dir_event returns early after an overflow and doesn't re-arm the one-shot watch of the directory; the thread watch_loop then sleeps in epoll_wait and never sees further changes, though the pipe has data. sync_docs waits for ever that its change is indexed.
 *   culprit: (?i)one-?shot|re-?arm|disarm|on_dir_event|rescan_dir|watch_loop.*(epoll|descriptor|\bfd\b|unread)
 *   victim: sync_docs|\bmain\b|indexed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	MODIFIED = 1,
	OVERFLOWED,
	QUIT
};

struct dir {
	const char *path;
	int pipe[2];
	int changed, indexed;
};

static struct dir dirs[3] = {{.path = "src"}, {.path = "docs"}, {.path = "control"}};
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t index_changed = PTHREAD_COND_INITIALIZER;
static int broken, epoll_fd, quit;

static void arm_watch(struct dir *dir, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = dir};

	epoll_ctl(epoll_fd, operation, dir->pipe[0], &event);
}

static void rescan_dir(struct dir *dir)
{
	usleep(8000);
	pthread_mutex_lock(&index_lock);
	dir->indexed++;
	pthread_cond_broadcast(&index_changed);
	pthread_mutex_unlock(&index_lock);
}

static void on_dir_event(struct dir *dir)
{
	char what;

	if (read(dir->pipe[0], &what, 1) != 1)
		return;
	if (what == QUIT) {
		quit = 1;
		return;
	}
	if (what == OVERFLOWED) {
		rescan_dir(dir);
		if (broken)
			return;
	} else {
		pthread_mutex_lock(&index_lock);
		dir->indexed++;
		pthread_cond_broadcast(&index_changed);
		pthread_mutex_unlock(&index_lock);
	}
	arm_watch(dir, EPOLL_CTL_MOD);
}

static void *watch_loop(void *data)
{
	for (int i = 0; i < 3; i++)
		arm_watch(&dirs[i], EPOLL_CTL_ADD);
	while (!quit) {
		struct epoll_event event;

		if (epoll_wait(epoll_fd, &event, 1, -1) == 1)
			on_dir_event(event.data.ptr);
	}
	return NULL;
}

static void change(struct dir *dir, char what)
{
	int wanted;

	pthread_mutex_lock(&index_lock);
	wanted = ++dir->changed;
	pthread_mutex_unlock(&index_lock);
	if (write(dir->pipe[1], &what, 1) != 1)
		return;
	pthread_mutex_lock(&index_lock);
	while (dir->indexed < wanted)
		pthread_cond_wait(&index_changed, &index_lock);
	pthread_mutex_unlock(&index_lock);
}

static void *sync_src(void *data)
{
	for (int i = 0; i < 20; i++) {
		change(&dirs[0], MODIFIED);
		usleep(12000);
	}
	return NULL;
}

static void *sync_docs(void *data)
{
	for (int i = 0; i < 10; i++) {
		change(&dirs[1], i == 4 ? OVERFLOWED : MODIFIED);
		usleep(25000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t watcher, src, docs;
	char what = QUIT;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epoll_fd = epoll_create1(0);
	for (int i = 0; i < 3; i++)
		if (pipe(dirs[i].pipe))
			return 1;
	pthread_create(&watcher, NULL, watch_loop, NULL);
	pthread_create(&src, NULL, sync_src, NULL);
	pthread_create(&docs, NULL, sync_docs, NULL);
	pthread_join(src, NULL);
	pthread_join(docs, NULL);
	if (write(dirs[2].pipe[1], &what, 1) != 1)
		return 1;
	pthread_join(watcher, NULL);
	printf("%d changes\n", dirs[0].indexed + dirs[1].indexed);
	return 0;
}
