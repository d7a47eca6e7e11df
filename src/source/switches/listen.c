/* SPDX-License-Identifier: ISC */
/*
 * Listens to the kernel's scheduler. A software event that never counts anything is opened on each
 * processor, for its records of context switches alone: that needs no rights, and costs a thread
 * about half a microsecond each time that it is switched out and in.
 */
#define _GNU_SOURCE
#include "source/switches/switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (256u << 10) /* the kernel grants twice as much to any user */
#define RECORD_MAX 512          /* bytes; those of interest are shorter */

struct thrum__source_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the ring's data lies behind it */
	size_t size;                       /* of the data, bytes */
	uint64_t last;                     /* the time of its latest record */
	bool is_over;                      /* nothing is written into it any more */
};

static int open_ring(struct thrum__source_ring *ring, pid_t pid, int cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.size = sizeof attr,
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
	};
	void *memory;

	ring->size = page > RING_BYTES ? page : RING_BYTES;
	attr.wakeup_watermark = RING_BYTES / 8;
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
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

int thrum__source_switches_open(struct thrum__source_switches *switches, pid_t pid)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t count = processors > 0 ? (uint32_t)processors : 1;
	int error = 0;

	*switches = (struct thrum__source_switches){0};
	switches->rings = calloc(count, sizeof *switches->rings);
	if (!switches->rings)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && error == 0; i++) {
		error = open_ring(&switches->rings[switches->ring_count], pid, (int)i);
		if (error == 0)
			switches->ring_count++;
		else if (error == -ENODEV)
			error = 0; /* this processor is off */
	}
	if (error == 0 && switches->ring_count == 0)
		error = -ENODEV;
	if (error != 0)
		thrum__source_switches_close(switches);
	return error;
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
	free(switches->losses);
	*switches = (struct thrum__source_switches){0};
}

static void copy_out(const struct thrum__source_ring *ring, uint64_t at, void *to, size_t size)
{
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;

	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = data[(at + i) % ring->size];
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
