/* SPDX-License-Identifier: ISC */
/*
 * All processes under one `thrum record` share this with it: how many forked children record, how they ended,
 * who made files that may be locks, who has permits of semaphores, who uses queues of messages, who started
 * whom, and which signals one sent to another. It lies in a file whose name stands in THRUM_ADAPT, behind
 * FORKS_WORD.
 */
#ifndef ADAPT_FORKS_H
#define ADAPT_FORKS_H

#include <stdatomic.h>
#include <stdint.h>

#define FORKS_WORD "forks="
#define FORKS_MAX 100        /* forked children that record */
#define FORKS_SENT 64        /* the latest signals */
#define FORKS_FILES 256      /* of which it is known who made them */
#define FORKS_SEMAPHORES 256 /* of semop(), in shared memory, and of tokens in pipes */
#define FORKS_GIVERS 2       /* of each: the first ones that gave a permit back */
#define FORKS_PERMITS 4      /* of each: those whose takers are noted */
#define FORKS_POSTERS 4      /* of each: threads that gave permits, and had taken none */
#define FORKS_WAITS 64       /* for such semaphores */
#define FORKS_QUEUES 64      /* of messages */
#define FORKS_USERS 8        /* of each: those processes that are noted */
#define FORKS_STARTED 256    /* processes of which it is known who started them */

#define FORKS_MAGIC UINT32_C(0x6b726f66)

struct thrum__adapt_forks {
	uint32_t magic;
	_Atomic uint32_t begun, refused, failed;
	_Atomic int32_t error;     /* why the last one failed: a negative enum thrum_error */
	_Atomic int32_t own_error; /* why the program's own recording failed */
	/* Those that began. If another process under `thrum record` has waited for one: with the status of
	 * waitpid(), and when, by CLOCK_MONOTONIC in ns; 0: not yet. */
	struct {
		_Atomic int32_t process, status;
		_Atomic int64_t ended;
	} child[FORKS_MAX];
	/* By their keys: files that some process made, and that must not have existed before. See
	 * call/lock_file.c. */
	struct thrum__adapt_made {
		_Atomic uint64_t file, name[2]; /* its key, stored last; the process's name */
		_Atomic int32_t process;        /* 0: a child of it may be to remove it */
		_Atomic uint32_t is_killed; /* by a signal, as the one that waited for it knows */
	} made[FORKS_FILES];
	/* By their keys: see shared/sets.c. */
	struct thrum__adapt_semaphore {
		_Atomic uint64_t key; /* 0: this one is free */
		_Atomic int32_t set;
		_Atomic uint32_t number, bits, total, takes, returns;
		_Atomic uint64_t giver[FORKS_GIVERS]; /* the first threads that gave one back */
		struct thrum__adapt_permit {
			_Atomic uint64_t thread; /* 0: nobody took it; else process and thread */
			/* In that process: where it did, and by which task. */
			_Atomic uint64_t caller, task;
			_Atomic uint64_t named, name[2]; /* named: the thread whose name it is */
			/* A signal killed that process, as the one knows that waited for it; or it forked, so
			 * that a child may be to give the permit back. */
			_Atomic uint32_t is_killed, is_shared;
		} permit[FORKS_PERMITS];
		/* Permits that threads gave which had taken none, and these: caller tells where they did. */
		_Atomic uint32_t posts;
		struct {
			_Atomic uint64_t thread, caller;
		} poster[FORKS_POSTERS];
	} semaphore[FORKS_SEMAPHORES];
	struct {
		_Atomic uint64_t thread, key;
		_Atomic uint32_t turn; /* differs in each wait */
		_Atomic uint32_t
			looks; /* it looks from time to time, and may tell why it waits in vain */
		_Atomic uint32_t is_told; /* for whom it waits, as all those wait for each other */
	} wait[FORKS_WAITS];
	/* By their keys: see shared/queues.c. */
	struct thrum__adapt_queue {
		_Atomic uint64_t key;        /* 0: this one is free */
		_Atomic uint32_t is_crowded; /* there are more users */
		struct thrum__adapt_user {
			_Atomic int32_t process;
			_Atomic uint32_t bits; /* of shared/queues.h */
			_Atomic uint64_t name[2];
		} user[FORKS_USERS];
	} queue[FORKS_QUEUES];
	/* By their numbers: processes that others started. */
	struct thrum__adapt_started {
		_Atomic int32_t process, by; /* process: stored last, 0 while the others change */
		_Atomic uint64_t caller;     /* an address of the process `by` */
		_Atomic uint64_t image;      /* the same in all copies of `by` by fork */
		/* By this signal, as its parent was told; -1: by none; 0: not known. */
		_Atomic int32_t killed;
	} started[FORKS_STARTED];
	/* By their numbers: processes that ended themselves, or began to record. See endings.c. */
	struct thrum__adapt_ended {
		_Atomic int32_t process; /* stored last, 0 while the others change */
		_Atomic int32_t status;  /* of exit(); -1: abort(); -2: it lived then */
		/* Where, and where that function was called if it is small; image as above. */
		_Atomic uint64_t caller, above, image;
		_Atomic uint64_t name[2]; /* of the thread that did */
	} ended[FORKS_STARTED];
	_Atomic uint32_t sent;
	/* By kill(): the call's times, by CLOCK_MONOTONIC in ns. number: 0 while it is written. to: negative
	 * for a group of processes. */
	struct {
		_Atomic int32_t number, to, from;
		_Atomic uint32_t is_ignored; /* by the process, just before the call */
		_Atomic int64_t began, ended;
		_Atomic uint64_t caller, image; /* as in struct thrum__adapt_started */
	} signal[FORKS_SENT];
};

#endif
