/* SPDX-License-Identifier: ISC */
/*
 * xen/: libthrum-xen, for programs in guests of Xen. It gets memory that the guest shares with another
 * domain, lets libthrum record to it, and writes to xenstore where it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/xen.h>
#include <unistd.h>
#include <xengnttab.h>
#include <xenstore.h>
#include <xentoollog.h>

#include "xen/clock.h"

#define PAGE 4096u
#define SIZE_DEFAULT (UINT64_C(1) << 20)
#define RING_REF "data/mprof/ring-ref"
#define FORMAT "data/mprof/format"
#define CLOCK "data/mprof/clock"
/* Longer values are refused by xenstored. */
#define VALUE_MAX 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xs_handle *store;   /* while a trace is published */
static xengntshr_handle *sharing; /* since the first start: it keeps the memory */
static pid_t publisher;

/* Xen's library prints what goes wrong; here an error's number tells it. */
static void stay_silent(struct xentoollog_logger *logger, xentoollog_level level, int number,
	const char *context, const char *format, va_list arguments)
{
	(void)logger;
	(void)level;
	(void)number;
	(void)context;
	(void)format;
	(void)arguments;
}

static int error_of(int number)
{
	switch (number) {
	case EACCES:
	case EPERM: return -THRUM_E_ACCESS;
	case ENOENT:
	case ENODEV: return -THRUM_E_NOT_FOUND;
	case ENOSPC: return -THRUM_E_SPACE;
	case ENOMEM: return -THRUM_E_MEMORY;
	default: return -THRUM_E_SYSTEM;
	}
}

/* Writes the references with commas between them, as mirage-profile-xen does. If that is too long
 * and `is_short`, "8-11" stands for neighbours. Returns false if there is no room. */
static bool write_references(const uint32_t *references, uint32_t count, bool is_short,
	char value[VALUE_MAX])
{
	size_t used = 0;

	for (uint32_t i = 0, last; i < count; i = last + 1) {
		last = i;
		while (is_short && last + 1 < count && references[last + 1] == references[last] + 1)
			last++;
		int size = snprintf(value + used, VALUE_MAX - used, last > i ? "%s%u-%u" : "%s%u",
			i ? "," : "", references[i], references[last]);

		if (size < 0 || (size_t)size >= VALUE_MAX - used)
			return false;
		used += (size_t)size;
	}
	return true;
}

/* The keys appear at once. */
static bool write_keys(const char *value, bool tells_time)
{
	for (;;) {
		xs_transaction_t transaction = xs_transaction_start(store);
		bool is_written = transaction != XBT_NULL &&
			xs_write(store, transaction, FORMAT, "thrum", 5) &&
			(!tells_time || xs_write(store, transaction, CLOCK, "asked", 5)) &&
			xs_write(store, transaction, RING_REF, value, (unsigned)strlen(value));

		if (transaction == XBT_NULL)
			return false;
		if (xs_transaction_end(store, transaction, !is_written))
			return is_written;
		if (errno != EAGAIN)
			return false;
	}
}

static void withdraw(void)
{
	if (!store)
		return;
	xs_rm(store, XBT_NULL, RING_REF);
	xs_rm(store, XBT_NULL, CLOCK);
	xs_rm(store, XBT_NULL, FORMAT);
	xs_close(store);
	store = NULL;
}

static int publish(const uint32_t *references, uint32_t count)
{
	char value[VALUE_MAX];

	if (!write_references(references, count, false, value) &&
		!write_references(references, count, true, value))
		return -THRUM_E_SIZE;
	store = xs_open(0);
	if (!store)
		return error_of(errno);
	if (write_keys(value, thrum__xen_clock_start()))
		return 0;
	int error = error_of(errno);

	withdraw();
	return error;
}

static int start(uint64_t size, unsigned domain)
{
	static struct xentoollog_logger logger = {.vmessage = stay_silent};
	uint32_t count = (uint32_t)(size / PAGE);
	uint32_t *references = malloc(count * sizeof *references);
	int error = 0;
	void *memory = NULL;

	if (!references)
		return -THRUM_E_MEMORY;
	if (!sharing && !(sharing = xengntshr_open(&logger, 0)))
		error = error_of(errno);
	/* The last argument: the other domain may only read. */
	if (!error && !(memory = xengntshr_share_pages(sharing, domain, (int)count, references, 0)))
		error = error_of(errno);
	if (!error)
		error = thrum_start(&(struct thrum_config){.size = size, .memory = memory});
	/* A recording that runs already leaves the memory as it was. */
	if (!error && memcmp(memory, "thrum", 5) != 0)
		error = -THRUM_E_ARGUMENT;
	if (error && memory)
		xengntshr_unshare(sharing, memory, count);
	if (!error) {
		error = publish(references, count);
		/* The memory stays: a thread may be in the middle of an event. */
		if (error)
			thrum_stop();
	}
	free(references);
	return error;
}

int thrum_xen_start(uint64_t size, unsigned domain)
{
	int error;

	if (!size)
		size = SIZE_DEFAULT;
	if (size < 256 * 1024 || size > UINT64_C(1) << 30)
		return -THRUM_E_SIZE;
	pthread_mutex_lock(&lock);
	if (thrum_enabled()) {
		error = -THRUM_E_ARGUMENT;
	} else {
		withdraw();
		publisher = getpid();
		error = start(size / PAGE * PAGE, domain);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* A child of the publisher has no part in the trace. */
__attribute__((destructor)) static void stop(void)
{
	if (publisher == getpid())
		withdraw();
}

void thrum_xen_stop(void)
{
	pthread_mutex_lock(&lock);
	stop();
	thrum_stop();
	pthread_mutex_unlock(&lock);
}
