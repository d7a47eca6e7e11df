/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Two processes: the shipper sends records, and at the end of a segment waits until all of them are
 *     acknowledged. The collector acknowledges each fourth record only, also if the record says that it is the last of its
 *     segment. The segment of ten records has two that collect_records never acknowledges; each waits for the other.
 *   culprit: collect_records
 *   victim: ship_segment|ship_records
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Ships audit records from one process to another, segment by segment. The parent looks after both. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACK_EVERY 4
#define WINDOW 8

struct record {
	uint32_t number;
	uint32_t last; /* of its segment */
	char text[56];
};

static bool acks_last; /* whether the last record of a segment is always acknowledged */

static bool read_all(int fd, void *data, size_t size)
{
	char *bytes = data;

	while (size > 0) {
		ssize_t got = read(fd, bytes, size);

		if (got <= 0)
			return false;
		bytes += got;
		size -= (size_t)got;
	}
	return true;
}

static void send_all(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		_exit(1);
}

/* ---- The collector ---- */

static void store(const struct record *record)
{
	(void)record;
	usleep(1000);
}

static int collect_records(int fd)
{
	struct record record;
	uint32_t unacknowledged = 0;

	while (read_all(fd, &record, sizeof record)) {
		store(&record);
		unacknowledged++;
		if (unacknowledged == ACK_EVERY || (acks_last && record.last)) {
			send_all(fd, &record.number, sizeof record.number);
			unacknowledged = 0;
		}
	}
	return 0;
}

/* ---- The shipper ---- */

static uint32_t wait_for_ack(int fd)
{
	uint32_t number;

	if (!read_all(fd, &number, sizeof number))
		_exit(1);
	return number;
}

static uint32_t ship_segment(int fd, uint32_t first, uint32_t count)
{
	uint32_t acknowledged = first;
	struct record record;

	for (uint32_t i = 0; i < count; i++) {
		memset(&record, 0, sizeof record);
		record.number = first + i + 1;
		record.last = i + 1 == count;
		snprintf(record.text, sizeof record.text, "login of user %u", record.number % 13);
		send_all(fd, &record, sizeof record);
		if (record.number - acknowledged >= WINDOW)
			acknowledged = wait_for_ack(fd);
		usleep(2000);
	}
	/* The file of the segment is removed once the other side has it all. */
	while (acknowledged < first + count)
		acknowledged = wait_for_ack(fd);
	return acknowledged;
}

static int ship_records(int fd)
{
	static const uint32_t segments[] = {12, 8, 16, 4, 12, 20, 10, 12, 8};
	uint32_t number = 0;

	for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
		number = ship_segment(fd, number, segments[i]);
		usleep(30000);
	}
	shutdown(fd, SHUT_WR);
	return 0;
}

/* ---- The parent ---- */

static pid_t start(const char *name, int (*run)(int fd), int own, int other)
{
	pid_t child = fork();

	if (child < 0)
		exit(1);
	if (child > 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	close(other);
	_exit(run(own));
}

int main(int argc, char **argv)
{
	pid_t collector;
	pid_t shipper;
	int status = 0;
	int ends[2];

	acks_last = argc < 2 || strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	collector = start("collector", collect_records, ends[0], ends[1]);
	shipper = start("shipper", ship_records, ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
	waitpid(shipper, &status, 0);
	waitpid(collector, &status, 0);
	printf("records: all segments shipped, %d\n", status);
	return 0;
}
