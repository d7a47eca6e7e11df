/* SPDX-License-Identifier: ISC */
/*
 * A fork's child has a recording of its own, which begins when the child has to wait: most children run
 * another program at once, or end soon. The child has a copy of all that the adapters noted for its parent.
 * At the fork only that is corrected which the child may use at once; the rest when its recording begins.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/ends/ends.h"
#include "adapt/forks.h"
#include "adapt/look/look.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

AT_FORK _Atomic bool thrum__adapt_is_fresh;
AT_FORK pid_t thrum__adapt_parent;

/* Without `thrum record`, as in a test, it is this process's own. */
static struct thrum__adapt_forks own, *forks = &own;
AT_FORK static int64_t forked;

#define YOUNG INT64_C(1000000000) /* ns */

REAL(poll)

/* ---- The limit -------------------------------------------------------------------------------- */

static void map_forks(int fd)
{
	struct stat file;
	void *shared = MAP_FAILED;

	if (fstat(fd, &file) == 0 && file.st_size >= (off_t)sizeof *forks)
		shared = mmap(NULL, sizeof *forks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return;
	/* After `thrum record` has ended, another process may have its number, and any file open. */
	if (((struct thrum__adapt_forks *)shared)->magic == FORKS_MAGIC)
		forks = shared;
	else
		munmap(shared, sizeof *forks);
}

void thrum__adapt_forks_find(const char *list)
{
	const char *word = strstr(list, FORKS_WORD);
	char path[64];
	size_t length;
	int fd;

	if (!word)
		return;
	word += strlen(FORKS_WORD);
	length = strcspn(word, ",");
	if (length >= sizeof path)
		return;
	memcpy(path, word, length);
	path[length] = '\0';
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	map_forks(fd);
	syscall(SYS_close, fd);
}

struct thrum__adapt_forks *thrum__adapt_forks(void)
{
	return forks;
}

bool thrum__adapt_fork_may_record(pid_t child)
{
	uint32_t number = atomic_fetch_add(&forks->begun, 1);

	if (number < FORKS_MAX) {
		atomic_store(&forks->child[number].process, child);
		return true;
	}
	atomic_fetch_sub(&forks->begun, 1);
	atomic_fetch_add(&forks->refused, 1);
	return false;
}

void thrum__adapt_fork_ended(pid_t child, int status)
{
	uint32_t count = atomic_load_explicit(&forks->begun, memory_order_relaxed);
	struct thrum__adapt_started *started = &forks->started[child % FORKS_STARTED];

	if (atomic_load(&started->process) == child)
		atomic_store(&started->killed, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
	for (uint32_t i = 0; WIFSIGNALED(status) && i < FORKS_FILES; i++)
		if (atomic_load(&forks->made[i].process) == child)
			atomic_store(&forks->made[i].is_killed, 1);
	if (WIFSIGNALED(status)) {
		thrum__adapt_set_killed(child);
		thrum__adapt_queue_killed(child);
	}
	for (uint32_t i = 0; i < count && i < FORKS_MAX; i++)
		if (atomic_load(&forks->child[i].process) == child &&
			!atomic_load(&forks->child[i].ended)) {
			atomic_store(&forks->child[i].status, status);
			atomic_store(&forks->child[i].ended, (int64_t)thrum__port_monotonic());
		}
}

void thrum__adapt_fork_failed(int error)
{
	atomic_store(&forks->error, error);
	atomic_fetch_add(&forks->failed, 1);
}

uint64_t thrum__adapt_image(void)
{
	return getauxval(AT_RANDOM) ^ (uint64_t)getauxval(AT_SYSINFO_EHDR) << 16;
}

void thrum__adapt_fork_started(pid_t process, const void *caller)
{
	struct thrum__adapt_started *started = &forks->started[process % FORKS_STARTED];

	atomic_store(&started->process, 0);
	atomic_store(&started->by, own_pid());
	atomic_store(&started->caller, (uintptr_t)caller);
	atomic_store(&started->image, thrum__adapt_image());
	atomic_store(&started->killed, 0);
	atomic_store(&started->process, process);
}

pid_t thrum__adapt_fork_starter(pid_t process, const void **caller)
{
	struct thrum__adapt_started *started = &forks->started[process % FORKS_STARTED];
	bool is_known = atomic_load(&started->process) == process;
	pid_t by = atomic_load(&started->by);

	*caller = (const void *)(uintptr_t)atomic_load(&started->caller);
	return is_known && atomic_load(&started->process) == process ? by : 0;
}

/* Whether a process is among those that were found. */
static bool is_found(const struct found_processes *found, pid_t process)
{
	for (unsigned i = 0; i < found->count; i++)
		if (found->list[i] == process)
			return true;
	return false;
}

void thrum__adapt_fork_add_left(struct found_processes *found)
{
	for (unsigned i = 0; i < FORKS_STARTED; i++) {
		const struct thrum__adapt_started *started = &forks->started[i];
		pid_t process = atomic_load(&started->process), parent;

		if (process == 0 || atomic_load(&started->killed) != 0 || is_found(found, process))
			continue;
		parent = thrum__adapt_process_parent(process);
		if (parent == 0 || parent == atomic_load(&started->by) ||
			!thrum__adapt_process_is_copy(own_pid(), process))
			continue;
		if (found->count < found->room)
			found->list[found->count++] = process;
		else
			found->is_whole = false;
	}
}

const void *thrum__adapt_started_by_copy(pid_t process)
{
	struct thrum__adapt_started *started = &forks->started[process % FORKS_STARTED];
	const void *caller = thrum__adapt_started_at(process);
	bool is_copy = atomic_load(&started->image) == thrum__adapt_image();

	if (!caller && is_copy && !thrum__adapt_fork_starter(process, &caller))
		caller = NULL;
	return caller;
}

int thrum__adapt_killed_by(pid_t process, const void **caller)
{
	const struct thrum__adapt_started *started = &forks->started[process % FORKS_STARTED];
	int killed = atomic_load(&started->process) == process ? atomic_load(&started->killed) : 0;
	int64_t latest = 0;

	*caller = NULL;
	if (killed < 0)
		return 0;
	for (unsigned i = 0; i < FORKS_SENT; i++) {
		int number = atomic_load(&forks->signal[i].number);
		int64_t ended = atomic_load(&forks->signal[i].ended);

		if (number == 0 || number != (killed ? killed : SIGKILL) || ended < latest ||
			atomic_load(&forks->signal[i].to) != process)
			continue;
		latest = ended;
		*caller = atomic_load(&forks->signal[i].image) == thrum__adapt_image()
			? (const void *)(uintptr_t)atomic_load(&forks->signal[i].caller)
			: NULL;
	}
	return latest && !killed ? SIGKILL : killed;
}

/* ---- Files ------------------------------------------------------------------------------------ */

static _Atomic bool has_made;

void thrum__adapt_fork_made(uint64_t file)
{
	struct thrum__adapt_made *made = &forks->made[file % FORKS_FILES];

	atomic_store(&made->file, 0);
	atomic_store(&made->process, own_pid());
	atomic_store(&made->is_killed, 0);
	thrum__adapt_note_name(made->name);
	atomic_store(&made->file, file);
	atomic_store(&has_made, true);
}

pid_t thrum__adapt_fork_maker(uint64_t file, char name[16], bool *is_killed)
{
	struct thrum__adapt_made *made = &forks->made[file % FORKS_FILES];
	pid_t process = atomic_load(&made->process);

	*is_killed = atomic_load(&made->is_killed) != 0;
	thrum__adapt_copy_name(name, made->name);
	return atomic_load(&made->file) == file ? process : 0;
}

void thrum__adapt_fork_shares(void)
{
	pid_t process = own_pid();

	for (uint32_t i = 0; atomic_load(&has_made) && i < FORKS_FILES; i++) {
		int32_t its = process;

		atomic_compare_exchange_strong(&forks->made[i].process, &its, 0);
	}
	atomic_store(&has_made, false);
	thrum__adapt_set_shares();
}

/* ---- The child -------------------------------------------------------------------------------- */

void thrum__adapt_fork_left(pid_t parent, bool records)
{
	thrum__adapt_parent = parent;
	thrum__adapt_threads_left();
	thrum__adapt_objects_left();
	thrum__adapt_pipes_left();
	thrum__adapt_users_left(records);
	forked = rough_time();
	atomic_store(&thrum__adapt_is_fresh, records);
}

void thrum__adapt_fork_begins(void)
{
	thrum__adapt_endings_begin();
	memset(thrum__adapt_watched, 0, sizeof thrum__adapt_watched);
	atomic_store(&thrum__adapt_look_counts[0], 0);
	thrum__adapt_children_left();
	thrum__adapt_accepts_left();
	thrum__adapt_watches_left();
	thrum__adapt_unsent_left();
	thrum__adapt_handovers_left();
	thrum__adapt_removed_left();
	thrum__adapt_unanswered_left();
	thrum__adapt_twice_left();
	if (thrum__adapt_self)
		thrum__adapt_self->spin = (struct spin){.count = 0};
}

static bool accepts(int fd)
{
	int value = 0;
	socklen_t size = sizeof value;

	return is_socket(fd) && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 &&
		value;
}

/* Whether it is a pipe that no shell has made its child's input. */
static bool is_workers_pipe(int fd)
{
	struct stat file;

	return fd > STDERR_FILENO && fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode);
}

/*
 * Many a child waits shortly for another process, as parts of a shell's pipeline do. So it waits in
 * poll() first, and begins only if that lasts; but not for a connection, or for what comes out of a
 * pipe, as another worker may take it. Where a handler might end the call meanwhile, as it would
 * not end poll(), nothing but the child's age and the sort of descriptor tells: shells don't wait
 * for sockets, or for other pipes than those that are input or output.
 */
bool thrum__adapt_fork_waits(int fd, short events)
{
	static _Atomic bool may_end; /* known to have such a handler */
	struct pollfd one = {.fd = fd, .events = events};
	bool is_young = rough_time() - forked < YOUNG;
	int error = errno;
	bool is_workers = is_workers_pipe(fd), comes_soon = false;

	if (is_young && atomic_load(&may_end) && may_block(fd) && !is_socket(fd) && !is_workers)
		return false;
	if (!thrum__adapt_would_wait(fd, events))
		return false;
	atomic_store(&may_end, thrum__adapt_may_interrupt());
	if (!is_workers)
		comes_soon = atomic_load(&may_end)
			? is_young && !is_socket(fd)
			: !accepts(fd) && real_poll(NULL)(&one, 1, LOOK_FIRST) > 0;
	errno = error;
	if (!comes_soon)
		thrum__adapt_start();
	return !comes_soon;
}

bool thrum__adapt_fork_sleeps(int64_t ns)
{
	if (ns >= LOOK_FIRST * INT64_C(1000000) || rough_time() - forked >= YOUNG)
		thrum__adapt_start();
	return is_on(ADAPTER_BLOCK);
}
