/* SPDX-License-Identifier: ISC */
/*
 * Opens four FIFOs in libuv's pool, and then asks for a file. Where all is well, others open them after a
 * while. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define FIFOS 4

static const char *const names[FIFOS] = {"fifo0", "fifo1", "fifo2", "fifo3"};
static uv_fs_t opens[FIFOS], file;

static void on_open(uv_fs_t *request)
{
	if (request->result < 0)
		exit(1);
	close((int)request->result);
	uv_fs_req_cleanup(request);
}

static void on_file(uv_fs_t *request)
{
	puts("there is a file");
	uv_fs_req_cleanup(request);
}

static void *come(void *unused)
{
	usleep(400000);
	for (int i = 0; i < FIFOS; i++)
		close(open(names[i], O_WRONLY));
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	end_after(argc > 1 ? 20 : 2);
	if (argc > 1)
		pthread_create(&thread, NULL, come, NULL);
	for (int i = 0; i < FIFOS; i++) {
		unlink(names[i]);
		if (mkfifo(names[i], 0600) ||
			uv_fs_open(uv_default_loop(), &opens[i], names[i], O_RDONLY, 0, on_open))
			return 1;
	}
	uv_fs_stat(uv_default_loop(), &file, ".", on_file);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	if (argc > 1)
		pthread_join(thread, NULL);
	return 0;
}
