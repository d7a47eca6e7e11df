/* SPDX-License-Identifier: ISC */
/*
 * Listens to the kernel. A software event that never counts anything is opened on each processor, for its
 * records of context switches alone: that needs no rights, and costs a thread about half a microsecond
 * each time that it is switched out and in. Page faults are further events that write to the same rings.
 * Tracepoints, of the whole machine, have rings of their own.
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

#define RING_BYTES (256u << 10) /* the kernel grants twice as much to any user */
#define RECORD_MAX 512          /* bytes; those of interest are shorter */
/* The inode of the machine's own namespace of pids: PROC_PID_INIT_INO of Linux. */
#define MACHINES_NUMBERS 0xEFFFFFFCu

struct thrum__source_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the ring's data lies behind it */
	size_t size;                       /* of the data, bytes */
	uint64_t last;                     /* the time of its latest record */
	int cpu;
	bool is_machines; /* it tells of the machine, not of the process */
	bool is_over;     /* nothing is written into it any more */
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

/*
 * One kind of page faults of the process and its children. Linux counts each fault as it begins, and again
 * as a minor or a major one when it is over. All samples begin with TID and TIME, and have CPU behind; what
 * else they have only makes them longer, so that records.c knows them apart.
 */
static struct perf_event_attr faults_attr(uint64_t which, uint64_t more)
{
	struct perf_event_attr attr = switches_attr();

	attr.config = which;
	attr.sample_type |= more;
	attr.sample_period = 1;
	attr.context_switch = 0;
	attr.task = 0;
	return attr;
}

/* All events of a tracepoint. */
static struct perf_event_attr point_attr(uint64_t tracepoint)
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

/* Reads a file about a tracepoint. Returns 0 or a negative errno. */
static int read_tracepoint(int folder, const char *point, const char *name, char *to, size_t size)
{
	char path[96];
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "events/%s/%s", point, name);
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

	ring->cpu = cpu;
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
			switches->rings[switches->ring_count++].is_machines = pid < 0;
		else if (error == -ENODEV)
			error = 0; /* this processor is off */
	}
	return error == 0 && switches->ring_count == before ? -ENODEV : error;
}

/* Opens an event on each processor that has a ring, which writes to it. Returns 0 or a negative errno. */
static int join_rings(struct thrum__source_switches *switches, struct perf_event_attr *attr,
	pid_t pid)
{
	for (uint32_t i = 0; i < switches->ring_count; i++) {
		const struct thrum__source_ring *ring = &switches->rings[i];
		int *fds, fd;

		if (ring->is_machines != (pid < 0))
			continue;
		fds = thrum__base_grow(switches->fds, &switches->fd_room,
			switches->fd_count + UINT64_C(1), sizeof *fds);
		if (!fds)
			return -ENOMEM;
		switches->fds = fds;
		fd = (int)syscall(SYS_perf_event_open, attr, pid, ring->cpu, -1,
			PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;
		fds[switches->fd_count++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0)
			return -errno;
	}
	return 0;
}

static int open_faults(struct thrum__source_switches *switches, pid_t pid)
{
	struct perf_event_attr attrs[] = {
		faults_attr(PERF_COUNT_SW_PAGE_FAULTS, 0),
		faults_attr(PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_SAMPLE_PERIOD),
		faults_attr(PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD),
	};
	int error = 0;

	for (size_t i = 0; i < sizeof attrs / sizeof *attrs && error == 0; i++)
		error = join_rings(switches, &attrs[i], pid);
	return error;
}

int thrum__source_switches_open(struct thrum__source_switches *switches, pid_t pid, bool has_faults)
{
	struct perf_event_attr attr = switches_attr();
	int error;

	*switches = (struct thrum__source_switches){0};
	switches->rings = calloc((size_t)processors() * 2, sizeof *switches->rings);
	if (!switches->rings)
		return -ENOMEM;
	error = open_rings(switches, &attr, pid);
	if (error == 0 && has_faults)
		error = open_faults(switches, pid);
	if (error != 0)
		thrum__source_switches_close(switches);
	return error;
}

/* The tracepoints that are opened. Those of the processor's own interrupts exist on x86. */
static const struct {
	const char *place;
	enum thrum__source_point_use use;
	const char *name;
} known_points[] = {
	{"sched/sched_waking", THRUM__POINT_WAKE, NULL},
	{"irq/irq_handler_entry", THRUM__POINT_IRQ, NULL},
	{"irq/irq_handler_exit", THRUM__POINT_IRQ_END, NULL},
	{"irq/softirq_entry", THRUM__POINT_SOFTIRQ, NULL},
	{"irq/softirq_exit", THRUM__POINT_SOFTIRQ_END, NULL},
	{"irq_vectors/local_timer_entry", THRUM__POINT_VECTOR, "local_timer"},
	{"irq_vectors/local_timer_exit", THRUM__POINT_VECTOR_END, "local_timer"},
	{"irq_vectors/reschedule_entry", THRUM__POINT_VECTOR, "reschedule"},
	{"irq_vectors/reschedule_exit", THRUM__POINT_VECTOR_END, "reschedule"},
	{"irq_vectors/call_function_entry", THRUM__POINT_VECTOR, "call_function"},
	{"irq_vectors/call_function_exit", THRUM__POINT_VECTOR_END, "call_function"},
	{"irq_vectors/call_function_single_entry", THRUM__POINT_VECTOR, "call_function_single"},
	{"irq_vectors/call_function_single_exit", THRUM__POINT_VECTOR_END, "call_function_single"},
	{"block/block_rq_issue", THRUM__POINT_ISSUE, NULL},
	{"block/block_rq_requeue", THRUM__POINT_REQUEUE, NULL},
	{"block/block_rq_complete", THRUM__POINT_COMPLETE, NULL},
};
_Static_assert(sizeof known_points / sizeof *known_points <= THRUM__POINTS_MAX, "they have room");

/* Finds the number of a tracepoint and the places of its fields. Returns 0 or a negative errno. */
static int find_point(int folder, const char *place, struct thrum__source_point *point)
{
	char text[4096];
	int error = read_tracepoint(folder, place, "id", text, sizeof text);

	if (error != 0)
		return error;
	point->id = (uint32_t)strtoul(text, NULL, 10);
	error = read_tracepoint(folder, place, "format", text, sizeof text);
	if (error != 0)
		return error;
	return point->id != 0 && thrum__source_switches_describe(point, text) ? 0 : -ENOENT;
}

/* Opens a tracepoint on each processor: the first one makes the rings. Returns 0 or a negative errno. */
static int open_point(struct thrum__source_switches *switches,
	const struct thrum__source_point *point)
{
	struct perf_event_attr attr = point_attr(point->id);
	int error = switches->point_count == 0 ? open_rings(switches, &attr, -1)
					       : join_rings(switches, &attr, -1);

	if (error == 0)
		switches->points[switches->point_count++] = *point;
	return error;
}

/* Whether this process numbers threads as the machine does. A container has numbers of its own. */
static bool is_numbered_by_machine(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == MACHINES_NUMBERS;
}

int thrum__source_switches_open_machine(struct thrum__source_switches *switches, bool has_events)
{
	size_t count = has_events ? sizeof known_points / sizeof *known_points : 1;
	int folder = is_numbered_by_machine() ? open_tracefs() : -EXDEV, error = 0;

	if (folder < 0)
		return folder;
	for (size_t i = 0; i < count && error == 0; i++) {
		struct thrum__source_point point = {.use = known_points[i].use,
			.name = known_points[i].name};

		error = find_point(folder, known_points[i].place, &point);
		if (error == 0)
			error = open_point(switches, &point);
		else if (error == -ENOENT && i > 0)
			error = 0;
	}
	close(folder);
	switches->has_events = has_events && error == 0;
	return error;
}

void thrum__source_switches_close(struct thrum__source_switches *switches)
{
	for (uint32_t i = 0; i < switches->ring_count; i++) {
		struct thrum__source_ring *ring = &switches->rings[i];

		munmap(ring->page, ring->size + (size_t)sysconf(_SC_PAGESIZE));
		close(ring->fd);
	}
	for (uint32_t i = 0; i < switches->fd_count; i++)
		close(switches->fds[i]);
	free(switches->rings);
	free(switches->fds);
	free(switches->all);
	free(switches->is_known);
	free(switches->losses);
	free(switches->events);
	thrum__base_keys_free(&switches->names);
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
		if (header.size <= sizeof record) {
			copy_out(ring, tail, record, header.size);
			if (ring->is_machines)
				thrum__source_switches_machine_record(switches, record,
					header.size);
			else
				thrum__source_switches_record(switches, &ring->last, record,
					header.size);
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
