/* SPDX-License-Identifier: ISC */
/*
 * Listens to the kernel's scheduler. A software event that never counts anything is opened on each
 * processor, for its records of context switches alone: that needs no rights, and costs a thread
 * about half a microsecond each time that it is switched out and in.
 */
#define _GNU_SOURCE
#include "source/switches/switches.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (256u << 10) /* the kernel grants twice as much to any user */
#define RECORD_MAX 512          /* bytes; those of interest are shorter */
/* The inode of the machine's own namespace of pids: PROC_PID_INIT_INO of Linux. */
#define MACHINES_NUMBERS 0xEFFFFFFCu

struct thrum__source_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the ring's data lies behind it */
	size_t size;                       /* of the data, bytes */
	uint64_t last;                     /* the time of its latest record */
	bool has_wakes;                    /* of all threads of the machine, not switches */
	bool is_over;                      /* nothing is written into it any more */
};

/* Switches of the process and its children. */
static struct perf_event_attr switches_attr(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.context_switch = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 8,
	};
}

/* All events of a tracepoint. */
static struct perf_event_attr wakes_attr(uint64_t tracepoint)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracepoint,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			PERF_SAMPLE_RAW,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 8,
	};
}

/* Opens a folder of tracefs, which is mounted nowhere for that: most systems mount it, containers and
 * small ones don't. Returns its descriptor, or a negative errno. */
static int open_tracefs(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int fd, folder;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && faccessat(fd, "events", F_OK, 0) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	fd = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fd < 0)
		return -errno;
	folder = syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		? -1
		: (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, 0);
	folder = folder < 0 ? -errno : folder;
	close(fd);
	return folder;
}

/* Reads a file about the tracepoint sched_waking. Returns 0 or a negative errno. */
static int read_tracepoint(int folder, const char *name, char *to, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "events/sched/sched_waking/%s", name);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, to, size - 1);
	n = n < 0 ? -errno : n;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return (int)n;
	to[n] = '\0';
	return 0;
}

static int open_ring(struct thrum__source_ring *ring, struct perf_event_attr *attr, pid_t pid,
	int cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	ring->size = page > RING_BYTES ? page : RING_BYTES;
	ring->fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	/* Other programs of this user may have taken a part of what it is granted. */
	while ((memory = mmap(NULL, ring->size + page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			0)) == MAP_FAILED &&
		errno == EPERM && ring->size > page)
		ring->size /= 2;
	if (memory == MAP_FAILED) {
		int error = errno;

		close(ring->fd);
		return -error;
	}
	ring->page = memory;
	return 0;
}

static uint32_t processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	return count > 0 ? (uint32_t)count : 1;
}

/* Opens a ring on each processor. Returns 0 or a negative errno. */
static int open_rings(struct thrum__source_switches *switches, struct perf_event_attr *attr,
	pid_t pid)
{
	uint32_t before = switches->ring_count;
	int error = 0;

	for (uint32_t i = 0; i < processors() && error == 0; i++) {
		error = open_ring(&switches->rings[switches->ring_count], attr, pid, (int)i);
		if (error == 0)
			switches->rings[switches->ring_count++].has_wakes = pid < 0;
		else if (error == -ENODEV)
			error = 0; /* this processor is off */
	}
	return error == 0 && switches->ring_count == before ? -ENODEV : error;
}

int thrum__source_switches_open(struct thrum__source_switches *switches, pid_t pid)
{
	struct perf_event_attr attr = switches_attr();
	int error;

	*switches = (struct thrum__source_switches){0};
	switches->rings = calloc((size_t)processors() * 2, sizeof *switches->rings);
	if (!switches->rings)
		return -ENOMEM;
	error = open_rings(switches, &attr, pid);
	if (error != 0)
		thrum__source_switches_close(switches);
	return error;
}

/* Finds the number of the tracepoint and the place of its pid. Returns 0 or a negative errno. */
static int find_waking(uint64_t *id, uint32_t *pid_at)
{
	char text[4096];
	int folder = open_tracefs(), error;

	if (folder < 0)
		return folder;
	error = read_tracepoint(folder, "id", text, sizeof text);
	*id = error == 0 ? strtoull(text, NULL, 10) : 0;
	if (error == 0)
		error = read_tracepoint(folder, "format", text, sizeof text);
	close(folder);
	if (error != 0)
		return error;
	*pid_at = thrum__source_switches_pid_at(text);
	return *id == 0 || *pid_at == 0 ? -ENOENT : 0;
}

/* Whether this process numbers threads as the machine does. A container has numbers of its own. */
static bool is_numbered_by_machine(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == MACHINES_NUMBERS;
}

int thrum__source_switches_open_wakes(struct thrum__source_switches *switches)
{
	uint64_t id;
	int error = is_numbered_by_machine() ? find_waking(&id, &switches->pid_at) : -EXDEV;

	if (error != 0)
		return error;
	struct perf_event_attr attr = wakes_attr(id);

	return open_rings(switches, &attr, -1);
}

void thrum__source_switches_close(struct thrum__source_switches *switches)
{
	for (uint32_t i = 0; i < switches->ring_count; i++) {
		struct thrum__source_ring *ring = &switches->rings[i];

		munmap(ring->page, ring->size + (size_t)sysconf(_SC_PAGESIZE));
		close(ring->fd);
	}
	free(switches->rings);
	free(switches->all);
	free(switches->is_known);
	free(switches->losses);
	*switches = (struct thrum__source_switches){0};
}

static void copy_out(const struct thrum__source_ring *ring, uint64_t at, void *to, size_t size)
{
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
	size_t from = at % ring->size;
	size_t first = size < ring->size - from ? size : ring->size - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, size - first);
}

static void drain(struct thrum__source_switches *switches, struct thrum__source_ring *ring)
{
	/* Partner: the kernel stores the head after the records, and reads the tail before it
	 * overwrites them. */
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	_Alignas(8) uint8_t record[RECORD_MAX];

	while (tail < head) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof header);
		if (header.size < sizeof header)
			break;
		/* Without some wakes it is only not known who woke a thread. */
		if (header.size <= sizeof record &&
			!(ring->has_wakes && header.type == PERF_RECORD_LOST)) {
			copy_out(ring, tail, record, header.size);
			thrum__source_switches_record(switches, &ring->last, record, header.size);
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void thrum__source_switches_wait(struct thrum__source_switches *switches, int fd, int ms)
{
	struct pollfd *polled = calloc(switches->ring_count + 1, sizeof *polled);

	if (!polled)
		return;
	polled[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	for (uint32_t i = 0; i < switches->ring_count; i++)
		polled[i + 1] = (struct pollfd){.fd = switches->rings[i].is_over
				? -1
				: switches->rings[i].fd,
			.events = POLLIN};
	(void)poll(polled, switches->ring_count + 1, ms);
	/* From then on poll wouldn't wait: all threads have ended, or run a setuid program. */
	for (uint32_t i = 0; i < switches->ring_count; i++)
		if (polled[i + 1].revents & POLLHUP)
			switches->rings[i].is_over = true;
	free(polled);
}

void thrum__source_switches_take(struct thrum__source_switches *switches)
{
	for (uint32_t i = 0; i < switches->ring_count; i++)
		drain(switches, &switches->rings[i]);
}
