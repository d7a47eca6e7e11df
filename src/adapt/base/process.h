/* SPDX-License-Identifier: ISC */
/*
 * process.c: what /proc tells of processes. Async-signal-safe. Changes errno. The caller holds off
 * cancellation, since files are open meanwhile.
 */
#ifndef ADAPT_PROCESS_H
#define ADAPT_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_TEXT 256
#define PROCESSES 32 /* that are looked at, at most */

/* Writes "/proc/1234" without a NUL. Returns the place behind it. */
char *thrum__adapt_process_path(char *to, pid_t process);
/* Writes the path of a process's descriptor, such as "/proc/1234/fd/5". */
void thrum__adapt_process_descriptor(char path[64], pid_t process, int fd);

/* Writes the name of a file of a thread, such as "/task/1234/stat"; tid 0: of the process. Returns it. */
const char *thrum__adapt_thread_file(char name[48], uint32_t tid, const char *file);
/* The number behind a word in a text; 0: there is no such word. */
uint64_t thrum__adapt_number_behind(const char *text, const char *word, int base);

/* Reads the beginning of a process's file, such as "/stat", with a NUL. Returns its length: 0 if there is
 * nothing. */
size_t thrum__adapt_process_read(pid_t process, const char *name, char text[PROCESS_TEXT]);

/* The same for what the kernel tells of a descriptor, to `size` bytes. */
size_t thrum__adapt_process_read_info(pid_t process, int fd, char *text, size_t size);

typedef void thrum__adapt_visit(void *context, int directory, const char *name);

/* Visits all processes: the entries of /proc whose names are numbers. Returns whether all were seen. */
bool thrum__adapt_each_process(thrum__adapt_visit *, void *context);

/* The same for a process's directory, such as "/fd". */
bool thrum__adapt_process_each(pid_t process, const char *name, thrum__adapt_visit *,
	void *context);

typedef bool thrum__adapt_visit_line(void *context, const char *line);

/* Visits the lines of a file in /proc, without their ends, until a visit returns true. Returns whether one
 * did. */
bool thrum__adapt_each_line(const char *path, thrum__adapt_visit_line *, void *context);

/* Processes that are found one after the other. */
struct found_processes {
	pid_t *list;
	unsigned count, room;
	bool is_whole; /* there was room for all, and all that tells of them was read */
};

/* Adds a process's children. Returns how many threads the process has. */
unsigned thrum__adapt_process_children(pid_t process, struct found_processes *);
/* Adds copies of this process by fork whose parents have ended: fork.c. */
void thrum__adapt_fork_add_left(struct found_processes *);

/* Whether a process has a single thread. */
bool thrum__adapt_process_is_single(pid_t process);

/* The system call in which a thread of a process waits: its main thread's if tid is 0. */
struct process_call {
	long number;
	unsigned long arguments[6];
};
/* Returns false if the thread runs, or that can't be seen. */
bool thrum__adapt_process_call(pid_t process, uint32_t tid, struct process_call *);

/* Differs once the thread has run, the main one if tid is 0; 0: that can't be seen. */
uint64_t thrum__adapt_process_ran(pid_t process, uint32_t tid);
/* How often the thread has had a processor so far; 0: that can't be seen. */
uint64_t thrum__adapt_process_turns(pid_t process, uint32_t tid);

/* Whether it is a call of this sort. Machines that lack the older ones do the same by the newer ones. */
bool thrum__adapt_call_is_poll(const struct process_call *);
bool thrum__adapt_call_is_epoll(const struct process_call *);
/* One that waits for any signal. */
bool thrum__adapt_call_is_pause(const struct process_call *);
/* Whether such a call ends by no time limit. */
bool thrum__adapt_call_is_endless(const struct process_call *);

/* Whether a process has a handler for any signal, or that isn't known. */
bool thrum__adapt_process_has_handlers(pid_t process);
/* Whether one of its threads might run a handler, as it doesn't hold that signal back; or that isn't
 * known. */
bool thrum__adapt_process_may_handle(pid_t process, uint32_t tid);

/* Returns the lowest signal that was sent to a process, but is held back by its main thread, and would not be
 * ignored; 0: there is none. */
int thrum__adapt_process_held_signal(pid_t process);

/* The signals of a process, number 1 as the lowest bit. */
struct process_signals {
	uint64_t pending; /* that were sent to the whole process */
	uint64_t own;     /* the same, to its main thread */
	uint64_t blocked; /* that all of its threads hold back */
	uint64_t ignored, handled;
};
/* Returns false if they aren't known. */
bool thrum__adapt_process_signals(pid_t process, struct process_signals *);
/* Whether a process has a descriptor from which it reads this signal, or that isn't known. */
bool thrum__adapt_process_reads_signal(pid_t process, int number);
/* Whether a process ignores a signal below 32; false also if that isn't known. Needs little of the stack. */
bool thrum__adapt_process_ignores(pid_t process, int number);
/* Returns the group of a process; 0: it isn't known. */
pid_t thrum__adapt_process_group(pid_t process);

/* Copies what a process has at an address of its own. Returns whether it is there. */
bool thrum__adapt_process_copy(pid_t process, uintptr_t address, void *to, size_t size);

/* Whether a process has made any call that writes since it began; or that isn't known. */
bool thrum__adapt_process_wrote(pid_t process);

/* Whether a process has ended, though nobody has waited for it. */
bool thrum__adapt_process_is_over(pid_t process);
/* Whether a signal has stopped it. */
bool thrum__adapt_process_is_stopped(pid_t process);

/* Returns a process's parent; 0: it isn't known. */
pid_t thrum__adapt_process_parent(pid_t process);

/* Whether a number stands in the arguments of a process: so it was told of that descriptor. True also if
 * these can't be read whole. */
bool thrum__adapt_process_is_told(pid_t process, int number);

/* Whether two processes run different programs, or that isn't known. */
bool thrum__adapt_process_is_other(pid_t self, pid_t process);

/* Whether the kernel itself may write to an eventfd of a process, as it may for devices and for calls that
 * don't wait; or that isn't known. */
bool thrum__adapt_process_has_kernel_writes(pid_t process);

/* Names in memory that processes share: notes the calling thread's; copies one. */
void thrum__adapt_note_name(_Atomic uint64_t name[2]);
void thrum__adapt_copy_name(char to[16], const _Atomic uint64_t name[2]);
/* Writes a process's number and name, "1234 (name)". Returns the place behind it. */
char *thrum__adapt_put_named(char *to, pid_t process, const char *name);

/* Whether a process is a copy of another one by fork, and has executed no program since. */
bool thrum__adapt_process_is_copy(pid_t self, pid_t process);

/* ---- names.c, ../endings.c ---- */

/* How a process ended itself. */
#define ENDING_ABORT (-1)
struct ending {
	int status; /* of exit(), or ENDING_ABORT */
	const void *at,
		*above; /* where, as in struct place; NULL: not known, or of another program */
	char name[16];
};
/* Returns whether one of those under this `thrum record` did so, as far as it is known. */
bool thrum__adapt_ended_itself(pid_t, struct ending *);
/* Returns whether it is known which name a process had as it ended itself, or began to record. */
bool thrum__adapt_was_named(pid_t, char name[16]);

/* Names a process, and where it was started. Returns the place behind it. Room: PROCESS_TEXT and
 * PLACE_MAX. */
char *thrum__adapt_put_process(char *to, pid_t);
/* The same, but not where it was started. One that is gone has the name that it noted, if
 * it did. */
char *thrum__adapt_put_process_name(char *to, pid_t);
/* Writes where a process was started, if that is known. Returns the place behind it. Room: PLACE_MAX. */
char *thrum__adapt_put_starter(char *to, pid_t);
/* Writes which signal killed a process, or who sent it, or how and where it ended itself, if that is known.
 * Where it was started comes behind that: a place at the end of a label gets its name. Returns the place
 * behind it. Room: ENDING_TEXT. */
#define ENDING_TEXT (2 * PLACE_MAX + 40)
char *thrum__adapt_put_ending(char *to, pid_t);
/* The place where a process that has ended did so, else where it was started; NULL: neither is known. */
const void *thrum__adapt_place_of_ended(pid_t);
/* Writes a signal's name. Returns the place behind it. */
char *thrum__adapt_put_signal(char *to, int number);

#endif
