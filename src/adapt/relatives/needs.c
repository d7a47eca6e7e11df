/* SPDX-License-Identifier: ISC */
/*
 * Waits for semaphores and queues that are the kernel's own. If only relatives know the set or the queue,
 * nobody else can end a wait for it. A queue with a name may be opened by any program, so a wait for it
 * never is in vain; but for a process that has asked, and waits for the answer: only those can give it that
 * have received what it sent.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/relatives/needs.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

/* A wait, and for what. */
struct call {
	const struct look *look;
	pid_t process;
	struct ipc_need *need;
	uint64_t key; /* of a queue */
	uint64_t semaphore;
	bool is_private; /* only relatives can know it */
};

uint32_t thrum__adapt_ipc_turn(pid_t process, uint32_t tid)
{
	uint32_t turn = 0;

	return thrum__adapt_set_wait_of(set_thread(process, tid), &turn) ? turn : 0;
}

/* ---- Memory ------------------------------------------------------------------------------------ */

/* Whether a line of /proc/PID/maps is about this address. */
static bool has_address(const char *line, unsigned long address)
{
	char *end;
	unsigned long first = strtoul(line, &end, 16);

	return *end == '-' && address >= first && address < strtoul(end + 1, NULL, 16);
}

/* Whether memory is shared with others, all of which got it by fork. That of memfd_create() may be sent
 * to any process. */
static bool is_nameless(const char *line)
{
	const char *kind = strchr(line, ' ');

	return kind && kind[4] == 's' && strstr(line, " (deleted)") &&
		(strstr(line, " /dev/zero") || strstr(line, " /dev/shm/") ||
			strstr(line, " /SYSV00000000"));
}

/* Memory of a process that is sought among its mappings. */
struct sought {
	unsigned long address;
	bool is_nameless;
	char *name; /* the address is named there; or NULL */
};

/* From a line like "7f00-7f08 rw-s 00001000 00:01 2084 /dev/zero (deleted)". The kernel numbers System V's
 * segments apart. */
static bool put_address(char to[IPC_MEMORY], const char *line, unsigned long address)
{
	bool is_segment = strstr(line, " /SYSV") != NULL;
	unsigned long first = strtoul(line, NULL, 16), from;
	const char *device = strchr(line, ' ');
	size_t device_size, number_size;
	char *end;

	device = device ? strchr(device + 1, ' ') : NULL;
	if (!device)
		return false;
	from = strtoul(device, &end, 16);
	device = end + strspn(end, " ");
	device_size = strcspn(device, " ");
	end = (char *)device + device_size;
	end += strspn(end, " ");
	number_size = strcspn(end, " ");
	if (device_size + number_size > IPC_MEMORY / 2)
		return false;
	to = stpcpy(to, "0x");
	thrum__port_put_hex(to, from + (address - first));
	to = stpcpy(strchr(to, '\0'), is_segment ? " in shared segment " : " in shared memory ");
	if (!is_segment) {
		memcpy(to, device, device_size);
		to = stpcpy(to + device_size, ":");
	}
	memcpy(to, end, number_size);
	to[number_size] = '\0';
	return true;
}

static bool look_at_mapping(void *context, const char *line)
{
	struct sought *sought = context;

	if (!has_address(line, sought->address))
		return false;
	sought->is_nameless = is_nameless(line) &&
		(!sought->name || put_address(sought->name, line, sought->address));
	return true;
}

static bool seek(pid_t process, unsigned long address, char *name)
{
	struct sought sought = {address, false, name};
	char path[48];

	strcpy(thrum__adapt_process_path(path, process), "/maps");
	thrum__adapt_each_line(path, look_at_mapping, &sought);
	return sought.is_nameless;
}

bool thrum__adapt_ipc_is_nameless(pid_t process, unsigned long address)
{
	return seek(process, address, NULL);
}

bool thrum__adapt_ipc_put_address(char to[IPC_MEMORY], const void *address)
{
	return !is_limited() && seek(own_pid(), (unsigned long)address, to);
}

/* ---- Calls ------------------------------------------------------------------------------------- */

static bool find_set(struct call *call, const unsigned long *arguments)
{
	int set = (int)arguments[0];
	struct semid_ds about;
	struct sembuf op;
	union set_value value = {.pointer = &about};

	if (semctl(set, 0, IPC_STAT, value) != 0 ||
		!thrum__adapt_process_copy(call->process, arguments[1], &op, sizeof op))
		return false;
	call->need->sort = IPC_SEMAPHORE;
	if (!call->semaphore)
		call->semaphore = thrum__adapt_set_key(set, op.sem_num);
	call->is_private = about.sem_perm.__key == IPC_PRIVATE;
	thrum__adapt_set_put_name(call->need->name, set, op.sem_num);
	return true;
}

static bool find_queue(struct call *call, int queue, bool sends)
{
	struct msqid_ds about;

	if (msgctl(queue, IPC_STAT, &about) != 0)
		return false;
	call->need->sort = sends ? IPC_ROOM : IPC_MESSAGE;
	call->key = thrum__adapt_queue_key(QUEUE_OF_MSGGET, (uint64_t)queue);
	call->is_private = about.msg_perm.__key == IPC_PRIVATE;
	*thrum__adapt_put_number(stpcpy(call->need->name, "queue "), (uint64_t)queue) = '\0';
	return true;
}

uint64_t thrum__adapt_ipc_mq_number(const char *path, bool *is_private)
{
	struct statx file;

	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_NLINK, &file) != 0)
		return 0;
	*is_private = file.stx_nlink == 0;
	return file.stx_ino ^ (uint64_t)file.stx_dev_major << 52 ^
		(uint64_t)file.stx_dev_minor << 32;
}

/* A queue of mq_open() is a descriptor, whose target is the queue's name. */
void thrum__adapt_ipc_mq_name(char name[IPC_NAME], const char *path)
{
	ssize_t size = readlink(path, name, IPC_NAME - 1);
	char *end;

	name[size > 0 ? size : 0] = '\0';
	end = strstr(name, " (deleted)");
	if (end)
		*end = '\0';
}

static bool find_mq(struct call *call, unsigned fd, bool sends)
{
	char path[64], name[IPC_NAME];
	uint64_t number;

	thrum__adapt_process_descriptor(path, call->process, (int)fd);
	call->need->sort = sends ? IPC_ROOM : IPC_MESSAGE;
	number = thrum__adapt_ipc_mq_number(path, &call->is_private);
	call->key = number ? thrum__adapt_queue_key(QUEUE_OF_MQ_OPEN, number) : 0;
	thrum__adapt_ipc_mq_name(name, path);
	strcpy(stpcpy(call->need->name, "queue "), name);
	return call->key != 0;
}

/* A lock, a condition or a semaphore that several processes share. */
static bool find_futex(struct call *call, const unsigned long *arguments)
{
	unsigned long operation = arguments[1] & ~(unsigned long)FUTEX_CLOCK_REALTIME;

	if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
		return false;
	call->need->sort = IPC_FUTEX;
	call->is_private = thrum__adapt_ipc_is_nameless(call->process, arguments[0]);
	strcpy(call->need->name, "shared memory, as no other process is left");
	return true;
}

/* Returns whether the call is one of these, and has no time limit. A thread that looks from time to time
 * has one, but has noted its wait. */
static bool find(struct call *call, const struct process_call *made, bool is_noted)
{
	const unsigned long *arguments = made->arguments;

	switch (made->number) {
	case SYS_futex:
		return (is_noted || thrum__adapt_call_is_endless(made)) &&
			find_futex(call, arguments);
	case SYS_msgrcv: return find_queue(call, (int)arguments[0], false);
	case SYS_msgsnd: return find_queue(call, (int)arguments[0], true);
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
		return (is_noted || arguments[4] == 0) &&
			find_mq(call, (unsigned)arguments[0], made->number == SYS_mq_timedsend);
#ifdef SYS_semop
	case SYS_semop: return find_set(call, arguments);
#endif
#ifdef SYS_semtimedop
	case SYS_semtimedop: return (is_noted || arguments[3] == 0) && find_set(call, arguments);
#endif
	default: return false;
	}
}

/* ---- Those who could end it -------------------------------------------------------------------- */

static uint32_t find_living(const struct look *look)
{
	uint32_t living = 0;

	for (unsigned i = 0; i < look->count; i++)
		if (!thrum__adapt_process_is_over(look->processes[i]))
			living |= UINT32_C(1) << i;
	return living;
}

/* Those that have used a queue in this way, but for the process itself. Returns false if there are
 * others than relatives. */
static bool add_users(const struct call *call, uint64_t key, unsigned bit, uint32_t *users)
{
	pid_t processes[FORKS_USERS];
	unsigned count = thrum__adapt_queue_list(key, bit, processes);

	for (unsigned i = 0; i < count; i++) {
		uint32_t own = thrum__adapt_relatives_bit(call->look, processes[i]);

		if (processes[i] == call->process)
			continue;
		if (thrum__adapt_process_is_over(processes[i])) {
			call->need->ended = processes[i];
			thrum__adapt_queue_name(key, processes[i], call->need->ended_name);
		} else if (!own) {
			return false;
		}
		*users |= thrum__adapt_process_is_over(processes[i]) ? 0 : own;
	}
	return count <= FORKS_USERS;
}

/* Those who have a lock. Returns false if it is no lock, or others than relatives have it. */
static bool find_holders(const struct call *call, uint32_t *by)
{
	struct set_lock lock;

	*by = 0;
	if (!thrum__adapt_set_of_lock(call->semaphore, &lock) || !thrum__adapt_set_is_taken(&lock))
		return false;
	for (unsigned i = 0; i < lock.count; i++) {
		uint32_t own = thrum__adapt_relatives_bit(call->look, lock.holders[i].process);

		if (!own)
			return false;
		*by |= own;
	}
	return true;
}

/* Those who should have ended the wait. Returns false if that isn't known. */
static bool find_likely(const struct call *call, uint32_t *by)
{
	uint64_t asked;

	*by = 0;
	if (call->need->sort == IPC_ROOM)
		return add_users(call, call->key, QUEUE_RECEIVES, by);
	if (!add_users(call, call->key, QUEUE_SENDS, by))
		return false;
	asked = thrum__adapt_queue_asked_by(call->process);
	return !asked || add_users(call, asked, QUEUE_RECEIVES, by);
}

bool thrum__adapt_ipc_need(const struct look *look, pid_t process, uint32_t tid,
	const struct process_call *made, struct ipc_need *need)
{
	struct call call = {.look = look, .process = process, .need = need};
	uint32_t living, own = thrum__adapt_relatives_bit(look, process), turn;
	bool is_known;

	*need = (struct ipc_need){.ended = 0};
	call.semaphore = thrum__adapt_set_wait_of(set_thread(process, tid), &turn);
	if (!find(&call, made, call.semaphore != 0))
		return false;
	living = find_living(look);
	if (need->sort == IPC_SEMAPHORE && find_holders(&call, &need->by) &&
		!(need->by & ~living)) {
		need->wakers = need->by | own;
		return true;
	}
	is_known = need->sort == IPC_SEMAPHORE || need->sort == IPC_FUTEX ||
		find_likely(&call, &need->by);
	need->by &= living;
	/* It has told itself why it waits. */
	if (!is_known || thrum__adapt_set_is_told(set_thread(process, tid)))
		return true;
	if (call.is_private)
		need->wakers = living | own;
	else if (call.key && (need->by || need->ended) &&
		(need->sort == IPC_ROOM || thrum__adapt_queue_asked_by(process)))
		need->wakers = need->by | own;
	if (!need->by)
		need->by = need->ended ? own : need->wakers;
	return true;
}

struct orphans {
	const struct look *look;
	bool found;
};

static void look_at_process(void *context, int directory, const char *name)
{
	struct orphans *orphans = context;
	pid_t process = atoi(name);

	if (!orphans->found && thrum__adapt_relatives_bit(orphans->look, process) == 0)
		orphans->found = thrum__adapt_process_is_copy(orphans->look->self, process);
}

bool thrum__adapt_ipc_has_orphans(const struct look *look)
{
	struct orphans orphans = {look, false};

	return !thrum__adapt_each_process(look_at_process, &orphans) || orphans.found;
}

/* ---- Telling ----------------------------------------------------------------------------------- */

char *thrum__adapt_ipc_put(char *to, const struct ipc_need *need)
{
	to = stpcpy(to,
		need->sort == IPC_SEMAPHORE       ? "permit of "
			: need->sort == IPC_ROOM  ? "receipt from "
			: need->sort == IPC_FUTEX ? "wake-up in "
						  : "message in ");
	to = stpcpy(to, need->name);
	if (!need->ended)
		return to;
	to = thrum__adapt_put_named(stpcpy(to, " by ended process "), need->ended,
		need->ended_name);
	to = thrum__adapt_put_ending(to, need->ended);
	return thrum__adapt_put_starter(to, need->ended);
}
