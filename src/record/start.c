/* SPDX-License-Identifier: ISC */
/*
 * Start, stop, and fork.
 *
 * The scheduler may suspend a thread in the middle of an event for any time. So memory that such a
 * thread may touch is never freed or reused. When a recording stops, its memory is replaced, page
 * by page and atomically, by private memory that nobody reads, and its recorder stays. The next
 * recording gets addresses of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "port/futex.h"
#include "port/port.h"
#include "record/record.h"

#define FREQUENCY_MAX UINT64_C(100000000000) /* the most that readers accept */

struct thrum__control thrum__control __attribute__((aligned(4096)));
struct process thrum__record_process __attribute__((aligned(PAGE_MAX)));
pthread_key_t thrum__record_exit_key;
bool thrum__record_has_exit_key;

static _Atomic uint32_t starting;
static char path[4096];
/* thrum__control is the recording's control page. */
static bool is_mask_shared;
/* The process has limited its system calls, also those of its children. */
static _Atomic bool is_limited;

/* ---- The lock of start and stop: no mutex, whose use the adapters would record -------------- */

static bool try_lock_start(void)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(&starting, &free, 1);
}

static void lock_start(void)
{
	while (!try_lock_start())
		thrum__port_yield();
}

static void unlock_start(void)
{
	atomic_store(&starting, 0);
}

/* ---- The process ---------------------------------------------------------------------------- */

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
/* The parent's recorder, and the lanes in which its forking thread is in the middle of an event:
 * for the child, in which the kernel wipes both. */
static struct recorder *forking;
static struct lane forking_lanes[LEVELS];

/* Gives the mask a page of this process alone, in which nothing is on. */
static void take_mask_back(void)
{
	if (is_mask_shared)
		thrum__port_detach(&thrum__control, sizeof thrum__control);
	else
		atomic_store(thrum__record_mask(), 0);
	is_mask_shared = false;
}

static void before_fork(void)
{
	const struct thread *thread = &thrum__record_thread;

	lock_start();
	thrum__record_counters_lock();
	forking = atomic_load(&thrum__record_process.recorder);
	for (unsigned level = 0; level < LEVELS; level++)
		if (thread->busy[level])
			memcpy(&forking_lanes[level], thread->lane[level], sizeof(struct lane));
}

static void after_fork(void)
{
	thrum__record_counters_unlock();
	unlock_start();
}

/* The child records nothing until it starts a recording of its own. If a handler forked in the
 * middle of an event, the rest of that event goes to private memory. */
static void in_child(void)
{
	struct thread *thread = &thrum__record_thread;

	atomic_store(&thrum__record_process.recorder, NULL); /* some kernels don't wipe it */
	take_mask_back();
	atomic_store(&thrum__record_process.counters, COUNTERS_FOREIGN);
	thrum__record_counters_adopt();
	if (forking && forking->has_file)
		thrum__port_detach(forking->header, forking->size);
	for (unsigned level = 0; forking && level < LEVELS; level++) {
		struct lane *lane = thread->lane[level];

		if (thread->busy[level] && lane != &thrum__record_no_lane) {
			memcpy(lane, &forking_lanes[level], sizeof *lane);
			thrum__record_clear_limit(lane);
		}
	}
	path[0] = '\0';
	forget_request();
	after_fork();
}

/* Makes the mask say that nothing is recorded. If it said otherwise, this process is a child that was
 * made without the handlers of fork(), or somebody has asked too late, or another thread is just
 * starting a recording. Async-signal-safe. */
static void clear_mask(void)
{
	struct thrum__port_signals signals;

	if (!atomic_load(thrum__record_mask()))
		return;
	if (!atomic_load(&thrum__record_process.has_started)) {
		take_mask_back();
		thrum__record_thread_forget(&thrum__record_thread);
		return;
	}
	/* A handler that forked now would wait for the lock for ever. */
	thrum__port_block_signals(&signals);
	if (try_lock_start()) {
		if (!atomic_load(&thrum__record_process.recorder))
			take_mask_back();
		unlock_start();
	}
	thrum__port_restore_signals(&signals);
}

struct recorder *thrum__record_look_outside(void)
{
	if (atomic_load(&is_limited))
		return NULL;
	if (is_asked())
		thrum__record_obey();
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	if (!r)
		clear_mask();
	return r;
}

struct recorder *thrum__record_hold(void)
{
	struct recorder *r = NULL;

	/* First without the lock: in a child made while another thread held it, it stays locked. */
	if (!atomic_load(&thrum__record_process.recorder))
		return NULL;
	lock_start();
	r = atomic_load(&thrum__record_process.recorder);
	if (!r)
		unlock_start();
	return r;
}

bool thrum__record_try_hold(void)
{
	if (!try_lock_start())
		return false;
	/* A start and a stop wait for this lock. Its holder may be the code that a handler interrupted. */
	if (thrum__record_counter_pages_are_free())
		return true;
	unlock_start();
	return false;
}

void thrum__record_let_go(void)
{
	unlock_start();
}

static void prepare_process(void)
{
	thrum__record_has_exit_key = pthread_key_create(&thrum__record_exit_key,
					     thrum__record_thread_exit) == 0;
	pthread_atfork(before_fork, after_fork, in_child);
}

__attribute__((constructor)) static void on_load(void)
{
	const char *trace = secure_getenv("THRUM_TRACE");

	/* Early, so that the key is one of the first: see attach_lane() in lane.c. */
	pthread_once(&prepared, prepare_process);
	thrum__record_levels_from_environment();
	/* libthrum-adapt.so, which `thrum record` has loaded, starts the recording when there is
	 * something to record. */
	if (trace && *trace && strcmp(trace, "0") != 0 && !secure_getenv("THRUM_ADAPT"))
		thrum_start(NULL);
}

static void stop(uint32_t ending);

__attribute__((destructor)) static void on_unload(void)
{
	stop(THRUM__ENDED_EXITED);
	/* A plugin with libthrum.a inside takes the key's destructor with it. */
	if (thrum__record_has_exit_key) {
		thrum__record_has_exit_key = false;
		pthread_key_delete(thrum__record_exit_key);
	}
}

/* ---- Start ---------------------------------------------------------------------------------- */

enum thrum__port_claim thrum__record_claim(const void *head, size_t size, bool is_locked)
{
	const struct thrum__header *h = head;

	if (size < sizeof *h || memcmp(h->magic, THRUM__MAGIC, sizeof h->magic) != 0)
		return THRUM__PORT_FOREIGN;
	if (atomic_load(&h->state) != THRUM__RECORDING)
		return THRUM__PORT_OURS;
	if (is_locked)
		return THRUM__PORT_IN_USE;
	/* This process recorded to it before it executed this program. */
	if (h->pid == thrum__port_pid() && h->process_start == thrum__port_process_start(0))
		return THRUM__PORT_IN_USE;
	/* Another container may have such a process, too: a lock tells more. */
	return !h->is_locked && thrum__port_process_lives(h->pid, h->process_start)
		? THRUM__PORT_IN_USE
		: THRUM__PORT_OURS;
}

/* Makes the mask the first page of the recording's control section, in which it is 0 so far. */
static void share_mask(const struct thrum__port_file *file, struct recorder *r)
{
	is_mask_shared = !r->counters_only &&
		thrum__port_file_map_at(file, r->header->control.offset, &thrum__control,
			sizeof thrum__control);
	if (is_mask_shared)
		atomic_store(&r->controls.page->is_shared, 1);
}

/*
 * Makes all but the packets present, so that a lack of space for them shows now. The packets' pages
 * are made present when they are needed, unless the program wants it now, or the kernel has no such
 * call or forbids it: then *packets_too. Returns 0 or a negative enum thrum_error.
 */
static int make_present(const struct thrum__port_file *file, uint8_t *memory,
	const struct thrum__header *layout, const struct thrum_config *config, bool *packets_too)
{
	int error = thrum__port_populate(memory, layout->packet.offset);

	*packets_too = config->reserve || error == -THRUM_E_SYSTEM || error == -THRUM_E_ACCESS;
	if (error && !*packets_too)
		return error;
	if (!error && config->reserve)
		error = thrum__port_populate(memory, layout->size);
	return error == -THRUM_E_SYSTEM || error == -THRUM_E_ACCESS
		? thrum__port_file_reserve(file, layout->size)
		: error;
}

/* Lets the file tell when the process died. `thrum record` notes that itself, and its adapters would record
 * the witness's mutex. */
static void begin_witness(const struct thrum__port_file *file, struct thrum__header *h)
{
	if (h->witness.size > 0 && !secure_getenv("THRUM_ADAPT"))
		h->born = thrum__port_witness_begin(file, h->witness.offset);
}

/* Starts a recording in a file, which is made under another name, filled in, and then renamed. */
static int start_file(struct recorder **r, const struct thrum_config *config, uint64_t size)
{
	/* They would need much of a small stack. */
	static struct thrum__port_file file;
	static struct thrum__header layout;

	memset(&layout, 0, sizeof layout);
	int error = thrum__record_lay_out(&layout, size, config);

	if (config->counters_only)
		size = layout.size;
	if (!error)
		error = thrum__port_file_create(&file, config->file, size, thrum__record_claim);
	if (error)
		return error;
	uint8_t *memory = thrum__port_file_map(&file, size);

	bool packets_too = false;

	error = memory ? make_present(&file, memory, &layout, config, &packets_too)
		       : -THRUM_E_MEMORY;
	if (!error)
		error = thrum__record_recorder_create(r, memory, size, config);
	/* Before anybody can see the file. */
	if (!error) {
		for (uint32_t i = 0; packets_too && i < layout.packets; i++)
			(*r)->ready[i] = layout.packet_size;
		(*r)->header->is_locked = file.is_locked;
		begin_witness(&file, (*r)->header);
		share_mask(&file, *r);
		if (!config->counters_only)
			thrum__record_begin_mask(*r);
		thrum__record_counters_begin(*r);
		error = thrum__port_file_commit(&file);
		if (error)
			thrum__record_counters_end(*r);
	} else
		thrum__port_file_abandon(&file);
	if (error)
		take_mask_back();
	if (error && memory)
		thrum__port_unmap(memory, size);
	if (!error)
		memcpy(path, file.path, sizeof path);
	return error;
}

/* Starts a recording in the memory that the program supplies. */
static int start_memory(struct recorder **r, const struct thrum_config *config, uint64_t size)
{
	static struct thrum__header layout;
	uint8_t *memory = config->memory;

	memset(&layout, 0, sizeof layout);
	int error = thrum__record_lay_out(&layout, size, config);

	if (error)
		return error;
	memset(memory, 0, layout.packet.offset);
	for (uint32_t i = 0; i < layout.packets; i++) /* no packet is there yet */
		memset(memory + layout.packet.offset + (size_t)i * layout.packet_size, 0,
			sizeof(struct thrum__packet));
	error = thrum__record_recorder_create(r, memory, size, config);
	if (error)
		return error;
	thrum__record_begin_mask(*r);
	thrum__record_counters_begin(*r);
	return 0;
}

/* Returns 0, -THRUM_E_SIZE or -THRUM_E_ARGUMENT. */
static int check_config(const struct thrum_config *config, uint64_t size)
{
	const struct thrum_clock *clock = config->clock;

	if (size < THRUM__SIZE_MIN || size > THRUM__SIZE_MAX)
		return -THRUM_E_SIZE;
	if ((unsigned)config->full > THRUM_FULL_DISCARD || (uintptr_t)config->memory % 4096)
		return -THRUM_E_ARGUMENT;
	if (config->counters_only && config->memory)
		return -THRUM_E_ARGUMENT;
	if (clock && (!clock->read || !clock->frequency || clock->frequency > FREQUENCY_MAX))
		return -THRUM_E_ARGUMENT;
	return 0;
}

static int start_recording(const struct thrum_config *config)
{
	struct recorder *r;
	uint64_t size = config->size ? config->size : THRUM__SIZE_DEFAULT;
	int error = check_config(config, size);

	if (error)
		return error;
	path[0] = '\0';
	take_mask_back(); /* in a child that has made no call yet */
	/* From now on a mask without a recorder is no parent's. */
	thrum__port_wipe_on_fork(&thrum__record_process, sizeof thrum__record_process);
	atomic_store(&thrum__record_process.has_started, true);
	error = config->memory ? start_memory(&r, config, size) : start_file(&r, config, size);
	if (error)
		return error;
	if (!is_mask_shared)
		thrum__port_wipe_on_fork(&thrum__control, sizeof thrum__control);
	/* In a forked child, this thread still has its parent's lane. */
	thrum__record_thread_forget(&thrum__record_thread);
	atomic_store(&thrum__record_process.recorder, r);
	if (!r->counters_only)
		thrum__record_publish_categories(r);
	return 0;
}

/* Returns the bytes of a size like "16M", or 0 if the text is no size. */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t size = strtoull(text, &end, 10);
	const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (end == text || text[0] == '-' || (*end && (!unit || end[1])) ||
		size >> (64 - shift - 1))
		return 0;
	return size << shift;
}

static int config_from_environment(struct thrum_config *config)
{
	const char *trace = secure_getenv("THRUM_TRACE"), *size = secure_getenv("THRUM_SIZE");
	const char *full = secure_getenv("THRUM_FULL"), *reserve = secure_getenv("THRUM_RESERVE");

	if (thrum__record_levels_from_environment())
		return -THRUM_E_ARGUMENT;
	if (trace && *trace && strcmp(trace, "0") != 0 && strcmp(trace, "1") != 0)
		config->file = trace;
	config->counters_only = size && strcmp(size, "0") == 0;
	if (size && *size && !config->counters_only && !(config->size = parse_size(size)))
		return -THRUM_E_ARGUMENT;
	config->reserve = reserve && *reserve && strcmp(reserve, "0") != 0;
	if (full && strcmp(full, "discard") == 0)
		config->full = THRUM_FULL_DISCARD;
	else if (full && *full && strcmp(full, "overwrite") != 0)
		return -THRUM_E_ARGUMENT;
	return 0;
}

int thrum_start(const struct thrum_config *config)
{
	struct thrum_config from_environment = {0};
	int error = 0;

	if (atomic_load(&is_limited))
		return -THRUM_E_ACCESS;
	pthread_once(&prepared, prepare_process);
	lock_start();
	if (!atomic_load(&thrum__record_process.recorder)) {
		if (!config) {
			error = config_from_environment(&from_environment);
			config = &from_environment;
		}
		if (!error)
			error = start_recording(config);
	}
	unlock_start();
	return error;
}

int thrum__record_start_held(const struct thrum_config *config)
{
	return atomic_load(&thrum__record_process.recorder) ? 0 : start_recording(config);
}

uint32_t thrum__recording(void)
{
	const struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	return r ? r->generation : 0;
}

const char *thrum_file(void)
{
	return path[0] ? path : NULL;
}

/* ---- Stop ----------------------------------------------------------------------------------- */

/* Notes in the header when the recording ended, and how. */
static void note_end(struct thrum__header *h, uint32_t ending, int32_t code)
{
	atomic_store(&h->ended, now() >> TICK_BITS);
	atomic_store(&h->ending_code, code);
	atomic_store(&h->ending, ending);
	atomic_store(&h->state, THRUM__STOPPED);
}

static void stop_held(struct recorder *r, uint32_t ending, int32_t code)
{
	struct thrum__record unused;

	thrum__record_note_clocks(r, &unused);
	note_end(r->header, ending, code);
	atomic_store(&thrum__record_process.recorder, NULL);
	take_mask_back();
	/* Partner: thrum__record_set_limit(). No fast event begins in any lane after this loop. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < r->packet_count; i++)
		thrum__record_clear_limit(&r->lanes[i]);
	thrum__record_counters_end(r);
	atomic_fetch_add(&r->header->progress, 1);
	thrum__port_wake(&r->header->progress);
	thrum__port_witness_end();
	if (r->has_file)
		thrum__port_detach(r->header, r->size);
}

static void stop(uint32_t ending)
{
	struct recorder *r = thrum__record_hold();

	if (!r)
		return;
	stop_held(r, ending, -1);
	thrum__record_let_go();
}

int thrum__record_stop_held(void)
{
	struct recorder *r = atomic_load(&thrum__record_process.recorder);

	if (!r)
		return -THRUM_E_NOT_RECORDING;
	stop_held(r, THRUM__ENDED_STOPPED, -1);
	return 0;
}

void thrum__exits(int status)
{
	struct recorder *r = atomic_load(&thrum__record_process.recorder);

	/* No more than this, since it may hold any lock. */
	if (r)
		note_end(r->header, THRUM__ENDED_EXITED, status & 0xff);
}

void thrum__limits(void)
{
	struct recorder *r;

	atomic_store(&is_limited, true);
	r = thrum__record_hold();
	if (!r)
		return;
	stop_held(r, THRUM__ENDED_STOPPED, THRUM__STOPPED_LIMITED);
	thrum__record_let_go();
}

void thrum__shrink(uint64_t bytes)
{
	struct recorder *r = thrum__record_hold();

	if (!r)
		return;
	if (r->has_file) {
		thrum__record_pool_shrink(r, bytes);
		thrum__port_unlock(r->header, r->size);
	}
	thrum__record_let_go();
}

void thrum_stop(void)
{
	stop(THRUM__ENDED_STOPPED);
}
