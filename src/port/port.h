/* SPDX-License-Identifier: ISC */
/*
 * port/: the operating system and the processor behind plain functions. Knows nothing of tracing.
 * Functions that can fail return 0 or a negative enum thrum_error.
 */
#ifndef PORT_PORT_H
#define PORT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thrum.h"

/* ---- Clock ---------------------------------------------------------------------------------- */

/* Whether the time stamp counter is invariant and the kernel's own clock. */
bool thrum__port_tsc_is_trusted(void);

/* ns. Async-signal-safe. */
uint64_t thrum__port_monotonic(void);
uint64_t thrum__port_realtime(void);

/* ---- Threads and processes ------------------------------------------------------------------ */

uint32_t thrum__port_pid(void);
uint32_t thrum__port_tid(void);
bool thrum__port_thread_lives(uint32_t pid, uint32_t tid);
/* The calling thread's name, at most 15 bytes and a NUL. */
void thrum__port_thread_name(char name[16]);

/* Field 22 of /proc/PID/stat, 0 if it can't be had. pid 0: this process. */
uint64_t thrum__port_process_start(uint32_t pid);
/* The program's name without its directory; the host's name. Cut to the size. */
void thrum__port_program(char *name, size_t size);
void thrum__port_host(char *name, size_t size);
/* Whether the process that started then (field 22 of its /proc/PID/stat) still lives; if that can't
 * be known, whether any of this number does. A process of another pid namespace can't be judged. */
bool thrum__port_process_lives(uint32_t pid, uint64_t start);

void thrum__port_random(void *to, size_t size);

/* ---- Memory --------------------------------------------------------------------------------- */

/* Zeroed, private, page-aligned; never freed. NULL when there is none. */
void *thrum__port_allocate(size_t size);

/* Makes the pages present and writable, so that a full disk shows here and not as a SIGBUS later.
 * Async-signal-safe. */
int thrum__port_populate(void *from, size_t size);

/* Puts private, empty memory in the place of a mapping, atomically for whoever still writes there.
 */
void thrum__port_detach(void *from, size_t size);

void thrum__port_unmap(void *from, size_t size);

/* What the kernel wipes in a fork's child. */
void thrum__port_wipe_on_fork(void *page, size_t size);

/* ---- The recording's file ------------------------------------------------------------------- */

struct thrum__port_file {
	char path[4096];      /* where it will be, once committed */
	char temporary[4096]; /* the name that it has until then, in the same directory */
	int directory;        /* locked */
	int fd;
};

/* Whose a file is, by its first bytes. */
enum thrum__port_claim {
	THRUM__PORT_FOREIGN, /* nothing of ours */
	THRUM__PORT_OURS,    /* an older recording: may be replaced */
	THRUM__PORT_IN_USE,  /* another live process records to it */
};
typedef enum thrum__port_claim thrum__port_look(const void *head, size_t size);

/*
 * Makes a new file of `size` bytes, 0600, under a temporary name beside `path`. In the path, %p is
 * the process's id, %e the program's name, %% a percent sign; NULL means
 * $XDG_RUNTIME_DIR/thrum/%e-%p.thrum, else /dev/shm/thrum-UID/%e-%p.thrum, whose directory is made.
 * If `path` is in use, it will be PATH.PID. Refuses symbolic links and what is neither ours nor
 * empty.
 */
int thrum__port_file_create(struct thrum__port_file *, const char *path, uint64_t size,
	thrum__port_look *);
/* Maps it whole, shared. NULL: no memory. */
void *thrum__port_file_map(const struct thrum__port_file *, uint64_t size);
/* Reserves its blocks, for kernels where thrum__port_populate can't tell. */
int thrum__port_file_reserve(const struct thrum__port_file *, uint64_t size);
int thrum__port_file_write(const struct thrum__port_file *, uint64_t offset, const void *from,
	size_t size);
/* Gives it its name, in the place of an older recording; or takes it away. Both close everything.
 */
int thrum__port_file_commit(struct thrum__port_file *);
void thrum__port_file_abandon(struct thrum__port_file *);

#endif
