/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: export_day holds the flock of index.lock while it writes all records
 *     of a day to the archiver, and should have released it before. The
 *     archiver needs that lock to go on (rotate_archive), so the pipe fills up.
 *   culprit: export_day
 *   victim: rotate_archive|archive_records
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 4000
#define PER_VOLUME 700

struct record {
	int day;
	int number;
	char text[56];
};

static char folder[64], lock_path[96];

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int lock_index(void)
{
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX)) {
		perror(lock_path);
		exit(1);
	}
	return fd;
}

/* The index has a line for each volume and each day. */
static void add_to_index(int fd, const char *what, int number)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s %d\n", what, number);

	if (lseek(fd, 0, SEEK_END) < 0 || write(fd, line, (size_t)length) != length)
		perror("index");
}

static void rotate_archive(int *volume, int volumes)
{
	char path[128];
	int fd;

	if (*volume >= 0)
		close(*volume);
	snprintf(path, sizeof(path), "%s/volume", folder);
	*volume = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fd = lock_index();
	add_to_index(fd, "volume", volumes);
	close(fd);
}

static bool read_record(int from, struct record *record)
{
	size_t have = 0;

	while (have < sizeof(*record)) {
		ssize_t got = read(from, (char *)record + have, sizeof(*record) - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

static int archive_records(int from)
{
	struct record record;
	int volume = -1, volumes = 0, count = 0;
	char path[128];

	while (read_record(from, &record)) {
		if (count++ % PER_VOLUME == 0)
			rotate_archive(&volume, ++volumes);
		if (write(volume, &record, sizeof(record)) < 0)
			return 1;
	}
	close(volume);
	snprintf(path, sizeof(path), "%s/volume", folder);
	unlink(path);
	unlink(lock_path);
	rmdir(folder);
	return volumes == (RECORDS * 3 + PER_VOLUME - 1) / PER_VOLUME ? 0 : 1;
}

static void export_day(int to, int day, bool short_lock)
{
	int fd = lock_index();

	add_to_index(fd, "day", day);
	if (short_lock)
		flock(fd, LOCK_UN);
	for (int i = 0; i < RECORDS; i++) {
		struct record record = {.day = day, .number = i};

		snprintf(record.text, sizeof(record.text), "meter %d: %d kWh", i % 97,
			i * day % 5003);
		if (write(to, &record, sizeof(record)) != sizeof(record)) {
			perror("archiver");
			exit(1);
		}
		if (i % 500 == 0)
			pause_ms(2);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	int ends[2], status = 1;
	pid_t archiver;
	bool short_lock;

	if (argc != 2)
		return 2;
	short_lock = !strcmp(argv[1], "healthy");
	snprintf(folder, sizeof(folder), "/tmp/hh_spool.%d", (int)getpid());
	snprintf(lock_path, sizeof(lock_path), "%s/index.lock", folder);
	if (mkdir(folder, 0700) || pipe2(ends, O_CLOEXEC)) {
		perror(folder);
		return 1;
	}
	archiver = fork();
	if (archiver == 0) {
		close(ends[1]);
		_exit(archive_records(ends[0]));
	}
	close(ends[0]);
	for (int day = 1; day <= 3; day++) {
		export_day(ends[1], day, short_lock);
		pause_ms(10);
	}
	close(ends[1]);
	waitpid(archiver, &status, 0);
	printf("archiver: %s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "done" : "failed");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
