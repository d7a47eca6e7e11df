/* SPDX-License-Identifier: ISC */
/*
 * port/: the operating system and the processor behind plain functions. All differences between
 * systems and processors live here. Nothing here knows of tracing: a recording is just a file of
 * some size.
 *
 *   port.h    clock, threads and processes, memory, the recording's file
 *   futex.h   sleep on a word of shared memory, and wake its sleepers
 *   cpu.h     inline helpers for the recorder's hot path
 *
 * A function that can fail returns 0 or a negative enum thrum_error. Any thread may call any
 * function. Only those that say so are async-signal-safe or keep errno.
 */
#ifndef PORT_PORT_H
#define PORT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thrum.h"

/* ---- Clock ---------------------------------------------------------------------------------- */

/* Whether read_tsc() is a clock of all processors, with a fixed frequency. On x86-64 the time stamp
 * counter must be invariant, and the kernel must use it as its clock; reads a file in /sys. True on
 * aarch64 and riscv64, false on others. */
bool thrum__port_tsc_is_trusted(void);
/* Returns the ticks a second of read_tsc(); 0: the processor doesn't tell, as most don't. */
uint64_t thrum__port_tsc_frequency(void);

/* Return CLOCK_MONOTONIC and CLOCK_REALTIME in ns. Async-signal-safe. */
uint64_t thrum__port_monotonic(void);
uint64_t thrum__port_realtime(void);
/* By how many µs CLOCK_REALTIME may be wrong, and the kernel's estimate of that. Returns false, and leaves
 * both, if nothing sets the clock, or the process has a filter of system calls: such a filter may kill
 * it for the question. Async-signal-safe. */
bool thrum__port_realtime_error(uint32_t *most, uint32_t *estimate);

/* ---- Threads and processes ------------------------------------------------------------------ */

#ifdef THRUM_CORE
/* Returns the number of the processor, below THRUM_CORE_CPUS: see core/. */
unsigned thrum__port_cpu(void);
#define THRUM__PORT_SHARED_PAGES 16u /* of 4 KiB: what thrum__port_allocate_shared has */
#endif
/* Returns how many of the processors that this thread may use have nothing to do now, about; 0 if that
 * can't be told. */
unsigned thrum__port_idle_processors(void);
/* Return the ids of the calling process and thread. */
uint32_t thrum__port_pid(void);
uint32_t thrum__port_tid(void);
/* Whether the process `pid` has a thread `tid`. One system call. */
bool thrum__port_thread_lives(uint32_t pid, uint32_t tid);
/* Writes the calling thread's name. That of the first thread is the process's title, if the program has
 * changed it, as servers do to tell their processes apart. */
#define THRUM__PORT_NAME 64
void thrum__port_thread_name(char name[THRUM__PORT_NAME]);

/* Lets other threads run, also those of a lower priority: sleeps for 0.1 ms. Async-signal-safe.
 * May change errno. */
void thrum__port_yield(void);

/* Hold off all signals and the cancellation of the calling thread, and restore its mask.
 * Async-signal-safe. */
struct thrum__port_signals {
	uint64_t before[16]; /* a sigset_t */
	int cancelling;
};
void thrum__port_block_signals(struct thrum__port_signals *);
void thrum__port_restore_signals(const struct thrum__port_signals *);

/* Returns the start time of a process as field 22 of /proc/PID/stat gives it, or 0 if it is not
 * available. pid 0 means this process. */
uint64_t thrum__port_process_start(uint32_t pid);
/* Write the program's name without its directory, and the host's name, cut to `size` bytes with the
 * ending NUL. */
void thrum__port_program(char *name, size_t size);
void thrum__port_host(char *name, size_t size);
/* Returns a number that the processes since the machine's start have in common, and no others; 0:
 * unknown. */
uint64_t thrum__port_boot(void);
/* Whether the process with this id and start time (thrum__port_process_start) still lives. If
 * either start time is unknown, whether any process with this id does. It can't judge a process of
 * another pid namespace. */
bool thrum__port_process_lives(uint32_t pid, uint64_t start);

/* Writes `size` random bytes. Never blocks: before the kernel has entropy the bytes are
 * pseudo-random, so don't use them for secrets. */
void thrum__port_random(void *to, size_t size);

/* ---- Memory --------------------------------------------------------------------------------- */

/* Returns the size of the system's pages: a power of two from 4096 to 65536. */
size_t thrum__port_page_size(void);

/* Returns how much memory this process may have: the machine's, or less where the process's limits or,
 * in a container, its control group say so. */
uint64_t thrum__port_memory_size(void);

/* Makes malloc give blocks of 1 MiB and more back to the system when they are freed, for the process's rest.
 * They then cost a system call each. Does nothing where the C library has no such choice. */
void thrum__port_return_blocks(void);

/* Returns `size` bytes of zeroed, private, page-aligned memory that is never freed, or NULL. */
void *thrum__port_allocate(size_t size);

/* Makes the pages present and writable, so that a full disk shows here and not as a SIGBUS later.
 * Returns 0, -THRUM_E_SYSTEM if the kernel can't (before Linux 5.14), -THRUM_E_ACCESS if a filter of
 * system calls forbids it, or -THRUM_E_SPACE.
 * Async-signal-safe; keeps errno. */
int thrum__port_populate(void *from, size_t size);

/* Maps a file, or memory, in place of a mapping, atomically for threads that use it. Returns whether that
 * worked. flags: of mmap(). */
bool thrum__port_map_over(void *to, size_t size, int flags, int fd, uint64_t offset);

/* Replaces a mapping by private, empty memory, atomically for threads that still write to it. */
void thrum__port_detach(void *from, size_t size);

/* Returns `size` bytes of zeroed, page-aligned memory that children of a fork share, or NULL. */
void *thrum__port_allocate_shared(size_t size);

/*
 * Maps shared memory a second time: at `to`, whose old mapping is replaced in one step, also for
 * threads that use it; or, if `to` is NULL, anywhere. Returns the place, or NULL if the system can't.
 */
void *thrum__port_alias(void *from, size_t size, void *to);

/* Unmaps memory that one of these functions or thrum__port_file_map returned. */
void thrum__port_unmap(void *from, size_t size);
/* Lets the kernel take the pages of locked memory. */
void thrum__port_unlock(void *from, size_t size);

/* Copies memory that others write meanwhile, in words where it is aligned to them. The copy is ordered
 * with all that this thread does before and after it, other copies included. */
void thrum__port_copy_shared(void *to, const void *from, size_t size);

/* Asks the kernel to wipe these pages in each child of a fork. Does nothing before Linux 4.14, nor if
 * they aren't whole pages of this kernel. */
void thrum__port_wipe_on_fork(void *page, size_t size);

/* Whether eight bytes may be read at an address, which is a multiple of eight. Costs a system call, which
 * changes nothing. Async-signal-safe. */
bool thrum__port_can_read(const void *address);

/* ---- Code ------------------------------------------------------------------------------------ */

/* A file of which the process runs code: the program or a library. */
struct thrum__port_module {
	uintptr_t address; /* added to the addresses in the file */
	size_t size;       /* of its memory, bytes */
	char build_id[41]; /* hex digits; "" if there is none, longer ones are cut */
	char path[1024];   /* cut if it is longer */
};

/* Finds the module in which an address lies. False: it lies in none. Async-signal-safe with glibc
 * 2.35 and later. */
bool thrum__port_find_module(const void *address, struct thrum__port_module *);

/* Whether code of a module lies there. Async-signal-safe like thrum__port_find_module. */
bool thrum__port_is_code(const void *address);

/* The function that a call names which returns to this place. Five bytes before it have to be readable.
 * NULL: the call names none, or the processor isn't an x86-64. */
const void *thrum__port_called(const void *returns);
/* The same for a jump that ends there. */
const void *thrum__port_jumped(const void *behind);
/* Searches readable code from one place to the other for a jump to a third one. Returns the place behind the
 * jump. NULL: there is none, or the processor isn't an x86-64. */
const void *thrum__port_find_jump(const void *from, const void *end, const void *to);

/* How the frame of a function lies at one of its calls. A frame's end is the caller's stack pointer. */
struct thrum__port_frame {
	uint32_t size;   /* of the function's code, bytes */
	bool by_pointer; /* the end is told from the frame pointer, else from the stack pointer */
	int32_t end;     /* from that register to the end, bytes */
	int32_t returns; /* from the end to the address to which the function returns: below 0 */
	int32_t saved;   /* from the end to the caller's frame pointer; 0: the register has it */
};
/* Reads that from a function's entry in .eh_frame. `begins` is where the function begins, `returns` where the
 * call returns to. The end is exact, also in a function that takes room on its stack as it needs it. False:
 * the entry isn't plain, or the processor is another than x86, x86-64 and aarch64. Async-signal-safe. */
bool thrum__port_find_frame(const void *entry, const void *begins, const void *returns,
	struct thrum__port_frame *);

/* Writes a number as hex digits, with a NUL behind them: at most 17 bytes. */
void thrum__port_put_hex(char *to, uint64_t number);

/*
 * Tells whether a function that was called when the stack pointer was `frame` has ended without
 * returning to its caller, `here` being the stack pointer now. If it is still active, this is a
 * signal handler that interrupted it. Returns false if that is unknown. Async-signal-safe.
 */
bool thrum__port_stack_is_left(uintptr_t frame, uintptr_t here);

/* ---- The recording's file ------------------------------------------------------------------- */

/*
 * Mark a file as being written. The lock is that of the open file, which its mappings share: so it
 * needs no open descriptor, and the kernel releases it when the process ends in any way or executes
 * another program. It is seen from all containers. A file system may know no locks: then the file
 * never counts as locked.
 */
bool thrum__port_file_lock(int fd);
/* Whether somebody has locked the file so. */
bool thrum__port_file_is_locked(int fd);

/* The owner of an existing file, judged by the file's first bytes. */
enum thrum__port_claim {
	THRUM__PORT_FOREIGN, /* not a recording: must not be replaced */
	THRUM__PORT_OURS,    /* an older recording: may be replaced */
	THRUM__PORT_IN_USE,  /* a live process records to it: take another name */
	THRUM__PORT_REFUSED, /* the same, but the caller wants this name or none */
};
/* Judges a file by its first `size` bytes, at most 4096, and by whether it is locked; `head` is
 * aligned to 64 bytes. */
typedef enum thrum__port_claim thrum__port_look(const void *head, size_t size, bool is_locked);

/*
 * Make it with thrum__port_file_create, fill it through thrum__port_file_map or
 * thrum__port_file_write, then give it its name with thrum__port_file_commit or drop it with
 * thrum__port_file_abandon.
 */
struct thrum__port_file {
	char path[4096];      /* its path once it is committed */
	char temporary[4096]; /* its name until then, in the same directory */
	size_t length;        /* of the path without .PID */
	thrum__port_look *look;
	int directory; /* a descriptor, locked if nobody else held its lock for long */
	int fd;
	int old;        /* the file that it replaces, locked likewise; -1: not opened */
	bool replaces;  /* a file has its path so far */
	bool is_locked; /* by thrum__port_file_lock */
	_Alignas(64) char scratch[4096]; /* here, so that a small stack suffices */
};

/*
 * Makes a new file of `size` bytes and mode 0600 under a temporary name beside `path`. In the path,
 * %p is replaced by the process id, %e by the program's name, %% by a percent sign. NULL means
 * $XDG_RUNTIME_DIR/thrum/%e-%p.thrum, else /dev/shm/thrum-UID/%e-%p.thrum; that directory is made.
 * If the path is in use, PATH.PID is used instead, or PATH.PID.2 and so on. Temporary files that
 * killed processes have left in the directory are removed.
 *
 * Errors: -THRUM_E_SYMLINK for a symbolic link; -THRUM_E_EXISTS for a file that is neither empty
 * nor a recording, and when PATH.PID.99 is in use, too; -THRUM_E_IN_USE for a path that is refused;
 * -THRUM_E_ARGUMENT for a path that is too long or names no file; -THRUM_E_SPACE, also when
 * RLIMIT_FSIZE forbids the size; -THRUM_E_NOT_FOUND, _ACCESS, _MEMORY, _SYSTEM.
 * After an error nothing is open and no file is left.
 */
int thrum__port_file_create(struct thrum__port_file *, const char *path, uint64_t size,
	thrum__port_look *);
/* Maps the first `size` bytes, shared. Returns NULL if that fails. */
void *thrum__port_file_map(const struct thrum__port_file *, uint64_t size);
/* Maps part of the file, shared, over memory of this process, in one step for threads that use it.
 * Returns false if the system can't, since its pages have another size. */
bool thrum__port_file_map_at(const struct thrum__port_file *, uint64_t offset, void *to,
	size_t size);
/* Reserves the file's blocks on the device, for kernels without thrum__port_populate. */
int thrum__port_file_reserve(const struct thrum__port_file *, uint64_t size);
/* Writes all `size` bytes at `offset`. */
int thrum__port_file_write(const struct thrum__port_file *, uint64_t offset, const void *from,
	size_t size);
/*
 * From now on the file is changed when this thread ends or its process does, in any way, on a file system
 * that notes the first write to a page; see witness.c. Needs the file's page at `offset`, a multiple of
 * the page size, for itself. Returns when the file was made, in ns since 1970; 0 if that doesn't work, or the
 * file system has another clock.
 */
uint64_t thrum__port_witness_begin(const struct thrum__port_file *, uint64_t offset);
/* Ends that, in any thread. 8 KiB of memory stay in use if it isn't the one that began. */
void thrum__port_witness_end(void);
/* Tells when a file was made and when it was last changed, in ns since 1970. False: its file system doesn't
 * tell, or somebody has set the time to a later one. A copy was made later than its original. */
bool thrum__port_file_times(int fd, uint64_t *born, uint64_t *changed);
/* Renames the file to its path, in the place of an older recording, and closes it. If somebody has taken
 * that path since, it gets another one, as in thrum__port_file_create. Removes the file if the renaming
 * fails. */
int thrum__port_file_commit(struct thrum__port_file *);
/* Removes the file and closes it. */
void thrum__port_file_abandon(struct thrum__port_file *);

#endif
