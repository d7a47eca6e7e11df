/* SPDX-License-Identifier: ISC */
/* Starts and stops thrum's recording, and reads its header. */
#include "bench.h"

#include "format/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const struct thrum__header *header;

static void give_up(const char *what)
{
	fprintf(stderr, "record: %s\n", what);
	exit(2);
}

double recording_start(const char *file, bool live_tasks)
{
	struct thrum_config config = {.file = file, .no_live_tasks = !live_tasks};
	struct timespec begin, end;
	int status, fd;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	status = thrum_start(&config);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (status)
		give_up(thrum_error_message(status));
	fd = open(thrum_file(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("the recording is not there");
	header = mmap(NULL, sizeof *header, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (header == MAP_FAILED)
		give_up("the recording can't be mapped");
	return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

void recording_stop(void)
{
	char path[4096];

	snprintf(path, sizeof path, "%s", thrum_file());
	munmap((void *)(uintptr_t)header, sizeof *header);
	header = NULL;
	thrum_stop();
	unlink(path);
}

bool recording_clock_is_tsc(void)
{
	return header->clock_kind == THRUM__CLOCK_TSC;
}

uint64_t recording_clock_frequency(void)
{
	/* A tick is 16 cycles. */
	return header->clock_frequency * 16;
}

#define WAIT_SIZE 12

double recording_packet_waits(void)
{
	return (double)(header->packet_size - sizeof(struct thrum__packet)) / WAIT_SIZE;
}
