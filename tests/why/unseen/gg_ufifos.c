/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: open_pipes opens four named pipes in libuv's pool; each open waits for its writer, so all four threads are
 *     taken. The list of services can't be opened any more, and only when it is read the writers are started.
 *   culprit: open_pipes|fs.open|uv_fs_open|libuv-worker|pool|\bopen\b
 *   victim: read_services|on_list|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Collects the log lines of services, each of which writes to a named pipe. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define SERVICES 4

struct service {
	char path[64]; /* the pipe, by a descriptor: its name is gone at once */
	int handle;
	pthread_t thread;
	uv_fs_t open, read;
	char line[64];
};

static bool lists_first;
static struct service services[SERVICES];
static uv_fs_t list_open, list_read;
static char list[64];
static unsigned lines;

/* A service of its own would be a process; here it is a thread. */
static void *run_service(void *data)
{
	struct service *service = data;
	int fd = open(service->path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "service %td is up\n", service - services) < 0)
		perror("service");
	close(fd);
	return NULL;
}

static void on_line(uv_fs_t *request)
{
	struct service *service = request->data;

	if (request->result > 0)
		lines++;
	uv_fs_req_cleanup(request);
	close((int)service->open.result);
}

static void on_pipe_open(uv_fs_t *request)
{
	struct service *service = request->data;
	uv_buf_t buffer = uv_buf_init(service->line, sizeof(service->line) - 1);

	uv_fs_req_cleanup(request);
	if (request->result < 0)
		return;
	service->read.data = service;
	uv_fs_read(uv_default_loop(), &service->read, (uv_file)request->result, &buffer, 1, -1,
		on_line);
}

static void open_pipes(void)
{
	for (int i = 0; i < SERVICES; i++) {
		services[i].open.data = &services[i];
		uv_fs_open(uv_default_loop(), &services[i].open, services[i].path, O_RDONLY, 0,
			on_pipe_open);
	}
}

static void on_list(uv_fs_t *request)
{
	uv_fs_req_cleanup(request);
	close((int)list_open.result);
	for (int i = 0; i < SERVICES; i++)
		pthread_create(&services[i].thread, NULL, run_service, &services[i]);
	if (lists_first)
		open_pipes();
}

static void on_list_open(uv_fs_t *request)
{
	uv_buf_t buffer = uv_buf_init(list, sizeof(list));

	uv_fs_req_cleanup(request);
	uv_fs_read(uv_default_loop(), &list_read, (uv_file)request->result, &buffer, 1, 0, on_list);
}

static void read_services(void)
{
	uv_fs_open(uv_default_loop(), &list_open, "/proc/self/comm", O_RDONLY, 0, on_list_open);
}

static int make_pipes(void)
{
	char folder[] = "/tmp/collect-XXXXXX", name[64];

	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < SERVICES; i++) {
		snprintf(name, sizeof(name), "%s/log%d", folder, i);
		if (mkfifo(name, 0600))
			return -1;
		services[i].handle = open(name, O_PATH | O_CLOEXEC);
		snprintf(services[i].path, sizeof(services[i].path), "/proc/self/fd/%d",
			services[i].handle);
		unlink(name);
	}
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	lists_first = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (make_pipes())
		return 1;
	if (!lists_first)
		open_pipes();
	read_services();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (int i = 0; i < SERVICES; i++) {
		pthread_join(services[i].thread, NULL);
		close(services[i].handle);
	}
	printf("%u lines\n", lines);
	uv_loop_close(uv_default_loop());
	return 0;
}
