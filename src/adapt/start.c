/* SPDX-License-Identifier: ISC */
/*
 * The options, which `thrum record` leaves in the environment, and the environment itself: the
 * program's children don't get these variables unless they are to be followed.
 *
 * Most programs have nothing to record, so the recording starts when the first adapter has
 * something. If the program reports to libthrum itself, it starts at once, as without adapters.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/descriptor/descriptor.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

/* The recording of a fork's child has this part of the size, but not less than 32M. */
#define CHILD_PART 32
#define CHILD_LEAST (UINT64_C(32) << 20)

unsigned thrum__adapt_chosen;

/* The recording to start. */
static char *file;
static struct thrum_config config;
static uint64_t whole; /* the size of the program's own */
AT_FORK static pid_t process;
/* The one into which the program was loaded. */
static pid_t first;
/* As they were: "LD_PRELOAD=..." and "THRUM_ADAPT=...". */
static char *preload_entry, *adapt_entry;
AT_FORK static _Atomic bool has_started;
/* The children that it forks record, too. */
static bool forks_record;
/* At a fork: the recording has ended, or could not begin. */
AT_FORK static bool was_over;
AT_FORK static bool has_forked;
/* No program that is run from here loads the adapters: the system calls are limited, also of those. */
static _Atomic bool passes_nothing;
/* The recorder is locked then, also for a signal's handler in the same thread. */
static __thread bool is_forking __attribute__((tls_model("initial-exec")));

/* ---- The environment ------------------------------------------------------------------------ */

/* Whether a list of words, separated by commas, has this word. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (;; list += strcspn(list, ",") + 1) {
		if (strncmp(list, word, length) == 0 && strchr(",", list[length]))
			return true;
		if (!strchr(list, ','))
			return false;
	}
}

static unsigned chosen(const char *list)
{
	unsigned bits = 0;

#define ADAPTER__X(NAME, word) bits |= has_word(list, word) ? 1U << ADAPTER_##NAME : 0;
	ADAPTERS(ADAPTER__X)
#undef ADAPTER__X
	return bits;
}

static char *make_entry(const char *name, const char *value)
{
	char *entry = malloc(strlen(name) + strlen(value) + 2);

	if (entry)
		stpcpy(stpcpy(stpcpy(entry, name), "="), value);
	return entry;
}

/* ---- Links between a program and those that it starts --------------------------------------- */

static bool follows;
static _Atomic uint32_t starts;
/* The calling thread sent this number last. A fork's child has it, too. */
static __thread uint64_t sent __attribute__((tls_model("initial-exec")));
/* The key that the program got which started this one. */
AT_FORK static char *received;

/* Writes "THRUM_LINK=" and a key of hex digits: of which process the how manieth start it is. */
static char *put_link(char to[48], uint64_t number)
{
	char *key = stpcpy(to, "THRUM_LINK=");

	thrum__port_put_hex(key, number);
	return key;
}

static uint64_t send_link(void)
{
	char link[48];
	uint64_t number = (uint64_t)process << 32 | (atomic_fetch_add(&starts, 1) + 1);
	const char *key = put_link(link, number);

	thrum_link_send(key, strlen(key));
	return number;
}

void thrum__adapt_fork(void)
{
	if (is_limited())
		return;
	thrum__adapt_fork_shares();
	thrum__adapt_pipes_shared();
	if ((follows || forks_record) && THRUM__ON(THRUM__BIT_STARTED))
		sent = send_link();
}

void thrum__adapt_exits(int status)
{
	/* The child of a vfork leaves its parent alone. */
	if (THRUM__ON(THRUM__BIT_STARTED) && getpid() == process)
		thrum__exits(status);
}

void thrum__adapt_forbids(void)
{
	if (syscall(SYS_getpid) != process)
		return;
	forks_record = false;
	if (process == first || THRUM__ON(THRUM__BIT_STARTED))
		return;
	atomic_store(&has_started, true);
	atomic_store(&thrum__adapt_is_fresh, false);
}

pid_t thrum__adapt_known_pid(void)
{
	return process;
}

void thrum__adapt_limits(void)
{
	atomic_store(&passes_nothing, true);
	/* The child of a vfork leaves its parent alone. */
	if (syscall(SYS_getpid) != process)
		return;
	thrum__adapt_forbids();
	/* So that something tells why nothing is recorded. */
	if (process == first)
		thrum__adapt_start();
	thrum__limits();
	atomic_store(&has_started, true);
	atomic_store(&thrum__adapt_is_limited, true);
	thrum__adapt_users_left(false);
}

void thrum__adapt_variables(struct variables *variables)
{
	uint64_t number = sent;

	variables->count = 0;
	if (atomic_load(&passes_nothing))
		return;
	thrum__adapt_set_leaves();
	thrum__adapt_pipes_shared();
	/* The kernel knows a child that the C library doesn't, as after vfork. */
	if (preload_entry && adapt_entry && syscall(SYS_getpid) == first) {
		variables->entry[variables->count++] = preload_entry;
		variables->entry[variables->count++] = adapt_entry;
	}
	if (!follows)
		return;
	/* A fork's child that records nothing has the key that its parent has sent. The child of a vfork
	 * still is its parent's thread. */
	if (THRUM__ON(THRUM__BIT_STARTED))
		number = send_link();
	if (!number)
		return;
	put_link(variables->link, number);
	variables->entry[variables->count++] = variables->link;
}

/* Removes this library from LD_PRELOAD. A library that the user put there stays. */
static void leave_preload(const char *own_path)
{
	char *list = getenv("LD_PRELOAD"), *rest, *to;

	if (!list || !(rest = strdup(list)))
		return;
	to = rest;
	while (*list) {
		size_t length = strcspn(list, ": ");

		if (length != strlen(own_path) || strncmp(list, own_path, length) != 0) {
			if (to != rest)
				*to++ = ':';
			memcpy(to, list, length);
			to += length;
		}
		list += length;
		list += strspn(list, ": ");
	}
	*to = '\0';
	if (*rest)
		setenv("LD_PRELOAD", rest, 1);
	else
		unsetenv("LD_PRELOAD");
	free(rest);
}

static void keep_options(void)
{
	const char *trace = secure_getenv("THRUM_TRACE"), *size = secure_getenv("THRUM_SIZE");
	const char *full = secure_getenv("THRUM_FULL"), *reserve = secure_getenv("THRUM_RESERVE");

	file = trace ? strdup(trace) : NULL;
	config.file = file;
	config.size = whole = size ? strtoull(size, NULL, 10) : 0;
	config.counters_only = size && strcmp(size, "0") == 0;
	config.full = full && strcmp(full, "discard") == 0 ? THRUM_FULL_DISCARD
							   : THRUM_FULL_OVERWRITE;
	config.reserve = reserve && *reserve && strcmp(reserve, "0") != 0;
}

/* The time in ms for which a lock may be held, and is not recorded; 0: any. */
static void keep_limit(void)
{
	const char *limit = secure_getenv("THRUM_HELD");
	char *end = NULL;
	unsigned long long ms = limit ? strtoull(limit, &end, 10) : 0;

	if (!limit || end == limit || *end || ms > INT64_MAX / 1000000)
		return;
	thrum__adapt_long = ms ? (int64_t)ms * 1000000 : INT64_MAX;
}

/* ---- Starting ------------------------------------------------------------------------------- */

/* Appends the process's number to the file's name, unless that has it. Returns false if it is as before. */
static bool append_number(void)
{
	static char name[4096];
	size_t length = strlen(file);

	if (strstr(file, "%p") || length + 12 > sizeof name)
		return false;
	memcpy(name, file, length);
	*thrum__adapt_put_number(stpcpy(name + length, "."), (uint64_t)process) = '\0';
	config.file = name;
	return true;
}

/* A fork's child leaves the name to the program, which may begin to record later, or have ended. Its file is
 * smaller, as there may be many. */
static void configure_child(void)
{
	uint64_t part = whole / CHILD_PART > CHILD_LEAST ? whole / CHILD_PART : CHILD_LEAST;

	config.size = whole < part ? whole : part;
	append_number();
}

/* Whether this process may record. */
static bool may_start(void)
{
	if (process == first)
		return true;
	atomic_store(&thrum__adapt_is_fresh, false);
	if (!thrum__adapt_fork_may_record(process))
		return false;
	configure_child();
	thrum__adapt_fork_begins();
	return true;
}

static void start_now(void)
{
	sigset_t all, before;
	int error = errno, cancel, result;

	if (is_forking || getpid() != process || atomic_exchange(&has_started, true) ||
		!may_start())
		return;
	/* The start opens files, and must not end halfway because the thread is cancelled, or a signal's
	 * handler jumps. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	config.size = thrum__adapt_size_within(config.size);
	result = thrum_start(&config);
	/* The program may have been executed by one of another user, whose file it can't look into. */
	if (result == -THRUM_E_ACCESS && follows && config.file == file && append_number())
		result = thrum_start(&config);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
	if (result < 0 && process != first)
		thrum__adapt_fork_failed(result);
	else if (result < 0)
		atomic_store(&thrum__adapt_forks()->own_error, result);
	if (received)
		thrum_link_receive(received, strlen(received));
	errno = error;
}

void thrum__adapt_start(void)
{
	if (file && !atomic_load_explicit(&has_started, memory_order_relaxed))
		start_now();
}

bool thrum__adapt_has_forked(void)
{
	return has_forked && file && !atomic_load_explicit(&has_started, memory_order_relaxed) &&
		syscall(SYS_getpid) == process;
}

static void before_fork(void)
{
	is_forking = true;
	was_over = atomic_load(&has_started) && !THRUM__ON(THRUM__BIT_STARTED);
}

static void after_fork(void)
{
	is_forking = false;
	has_forked = true;
}

/* It need not ask at each call whether it is a child. (That of a vfork does.) */
static void in_child(void)
{
	AT_FORK static char link[48];
	pid_t parent = process;
	bool records = forks_record && !was_over;

	is_forking = false;
	has_forked = false;
	if (is_limited())
		return;
	process = getpid();
	received = sent ? put_link(link, sent) : NULL;
	atomic_store(&has_started, !records);
	thrum__adapt_fork_left(parent, records);
}

/* Whether a module needs libthrum: its strings are names of libraries among others. */
static bool needs_recorder(const struct link_map *module)
{
	const char *strings = NULL;

	for (const ElfW(Dyn) *entry = module->l_ld; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)entry->d_un.d_ptr;
	for (const ElfW(Dyn) *entry = module->l_ld; entry && entry->d_tag != DT_NULL; entry++)
		/* The kernel's own module has no absolute addresses. */
		if (entry->d_tag == DT_NEEDED && (uintptr_t)strings > module->l_addr &&
			strncmp(strings + entry->d_un.d_val, "libthrum", 8) == 0)
			return true;
	return false;
}

/* Whether the program itself or one of its libraries reports to the recorder. */
static bool is_annotated(const char *own_path)
{
	const struct link_map *module = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);

	for (; module; module = module->l_next)
		if (strcmp(module->l_name, own_path) != 0 && needs_recorder(module))
			return true;
	return false;
}

__attribute__((constructor)) static void on_load(void)
{
	const char *list = secure_getenv("THRUM_ADAPT");
	struct thrum__port_module own;

	thrum__adapt_find_reals();
	if (!list || !thrum__port_find_module((const void *)(uintptr_t)on_load, &own))
		return;
	const char *link = secure_getenv("THRUM_LINK");

	follows = has_word(list, "follow");
	process = first = getpid();
	received = link ? strdup(link) : NULL;
	unsetenv("THRUM_LINK");
	keep_options();
	keep_limit();
	/* After the recorder's own handlers: they run within these. */
	pthread_atfork(before_fork, after_fork, in_child);
	thrum__adapt_chosen = chosen(list);
	thrum__adapt_forks_find(list);
	/* The main thread. It is no lane until it records something. */
	thrum__adapt_thread_begin(THRUM_TASK_NONE);
	if (!follows) {
		if (getenv("LD_PRELOAD"))
			preload_entry = make_entry("LD_PRELOAD", getenv("LD_PRELOAD"));
		adapt_entry = make_entry("THRUM_ADAPT", list);
		leave_preload(own.path);
		unsetenv("THRUM_ADAPT");
	}
	/* A program that reports to the recorder itself tells more, unless somebody asks. */
	if (is_annotated(own.path)) {
		if (!has_word(list, "anyway")) {
			thrum__adapt_chosen &= 1U << ADAPTER_PTHREAD;
			thrum__adapt_is_beside = true;
		}
		thrum__adapt_start();
	} else {
		forks_record = file != NULL;
	}
}
