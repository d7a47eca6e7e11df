/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: node-lkl issue #22 ("Can't mount more than 3 partitions at once"). Each mount runs in a thread of libuv's
 *     pool (mount_work) and waits in disk_read for blocks, which the loop reads with uv_fs_read, in the same pool.
 *     When all four partitions are mounted at once, the four mounts have all threads of the pool; each waits for a
 *     read that needs a thread. So the pool waits for itself. The loop's timer goes on.
 *   culprit: mount_work|disk_read|mount_partition
 *   victim: on_status|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Mounts the partitions of disk images: a file system in user space runs in the pool, the disk is read by the loop. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define POOL 4
#define BLOCK 4096
#define BLOCKS 64

struct request {
	uv_fs_t fs;
	uv_buf_t buffer;
	uv_sem_t done;
	unsigned block;
	ssize_t result;
	char data[BLOCK];
	struct request *next;
};

struct mount {
	uv_work_t work;
	unsigned partition;
	unsigned inodes;
	struct mount *next;
};

static struct {
	uv_loop_t *loop;
	uv_file file;
	uv_async_t wake;
	uv_mutex_t lock;
	struct request *queue; /* from the pool's threads */
	uv_timer_t status, next_image;
	struct mount *waiting; /* for a thread, if their number is limited */
	unsigned running, limit, mounted, reads, image, pending;
} host;

/* How many partitions each image has. */
static const unsigned images[] = {1, 2, 1, 3, 2, 3, 4, 2, 3};

/* ---- the disk, in the loop ---- */

static void on_block(uv_fs_t *fs)
{
	struct request *request = fs->data;

	request->result = fs->result;
	uv_fs_req_cleanup(fs);
	host.reads++;
	uv_sem_post(&request->done);
}

static void on_request(uv_async_t *async)
{
	struct request *request, *next;

	(void)async;
	uv_mutex_lock(&host.lock);
	request = host.queue;
	host.queue = NULL;
	uv_mutex_unlock(&host.lock);
	for (; request; request = next) {
		next = request->next;
		request->fs.data = request;
		request->buffer = uv_buf_init(request->data, BLOCK);
		uv_fs_read(host.loop, &request->fs, host.file, &request->buffer, 1,
			(int64_t)request->block * BLOCK, on_block);
	}
}

/* ---- the file system, in the pool ---- */

static ssize_t disk_read(struct request *request, unsigned block)
{
	request->block = block;
	uv_mutex_lock(&host.lock);
	request->next = host.queue;
	host.queue = request;
	uv_mutex_unlock(&host.lock);
	uv_async_send(&host.wake);
	uv_sem_wait(&request->done);
	return request->result;
}

static void mount_work(uv_work_t *work)
{
	struct mount *mount = work->data;
	struct request *request = calloc(1, sizeof(*request));
	unsigned i;

	uv_sem_init(&request->done, 0);
	usleep(15000); /* starts the kernel's thread */
	for (i = 0; i < 12; i++) {
		if (disk_read(request, (mount->partition * 16 + i) % BLOCKS) != BLOCK)
			exit(1);
		mount->inodes += (unsigned char)request->data[i];
		usleep(1000);
	}
	uv_sem_destroy(&request->done);
	free(request);
}

static void image_done(void);
static void mount_start(struct mount *mount);

static void mount_done(uv_work_t *work, int status)
{
	struct mount *mount = work->data, *next;

	(void)status;
	host.running--;
	host.mounted++;
	free(mount);
	next = host.waiting;
	if (next) {
		host.waiting = next->next;
		mount_start(next);
	}
	if (--host.pending == 0)
		image_done();
}

static void mount_start(struct mount *mount)
{
	host.running++;
	uv_queue_work(host.loop, &mount->work, mount_work, mount_done);
}

static void mount_partition(unsigned partition)
{
	struct mount *mount = calloc(1, sizeof(*mount));

	mount->partition = partition;
	mount->work.data = mount;
	host.pending++;
	if (host.limit && host.running == host.limit) {
		mount->next = host.waiting;
		host.waiting = mount;
		return;
	}
	mount_start(mount);
}

/* ---- images ---- */

static void on_image(uv_timer_t *timer)
{
	unsigned i;

	(void)timer;
	for (i = 0; i < images[host.image]; i++)
		mount_partition(i);
	host.image++;
}

static void image_done(void)
{
	if (host.image < sizeof(images) / sizeof(images[0])) {
		uv_timer_start(&host.next_image, on_image, 30, 0);
		return;
	}
	uv_close((uv_handle_t *)&host.next_image, NULL);
	uv_close((uv_handle_t *)&host.status, NULL);
	uv_close((uv_handle_t *)&host.wake, NULL);
}

static void on_status(uv_timer_t *timer)
{
	(void)timer;
	printf("image %u: %u mounted, %u blocks read\n", host.image, host.mounted, host.reads);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/disk-XXXXXX", block[BLOCK];
	unsigned i;

	if (argc < 2)
		return 2;
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	host.limit = !strcmp(argv[1], "healthy") ? POOL - 1 : 0;
	host.loop = uv_default_loop();
	host.file = mkstemp(path);
	unlink(path);
	for (i = 0; i < BLOCKS; i++) {
		memset(block, (int)i, sizeof(block));
		if (write(host.file, block, sizeof(block)) != sizeof(block))
			return 1;
	}
	uv_mutex_init(&host.lock);
	uv_async_init(host.loop, &host.wake, on_request);
	uv_timer_init(host.loop, &host.next_image);
	uv_timer_init(host.loop, &host.status);
	uv_timer_start(&host.status, on_status, 50, 50);
	uv_timer_start(&host.next_image, on_image, 10, 0);
	uv_run(host.loop, UV_RUN_DEFAULT);
	printf("%u mounted, %u blocks read\n", host.mounted, host.reads);
	return 0;
}
