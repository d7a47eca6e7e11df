/* SPDX-License-Identifier: ISC */
/*
 * A program that root starts may give up root's rights, or change its root directory, before it waits for
 * anything. Afterwards it couldn't make the recording's file, so the recording starts before.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "adapt/base/base.h"

REAL(setuid)
REAL(seteuid)
REAL(setreuid)
REAL(setresuid)
REAL(chroot)

/* user: the effective user to be; -1: as it is. */
static void before_change(uid_t user)
{
	if (user != 0 && user != (uid_t)-1 && geteuid() == 0)
		thrum__adapt_start();
}

STAND_IN int setuid(uid_t user)
{
	before_change(user);
	return real_setuid(CALLER)(user);
}

STAND_IN int seteuid(uid_t effective)
{
	before_change(effective);
	return real_seteuid(CALLER)(effective);
}

STAND_IN int setreuid(uid_t user, uid_t effective)
{
	before_change(effective);
	return real_setreuid(CALLER)(user, effective);
}

STAND_IN int setresuid(uid_t user, uid_t effective, uid_t saved)
{
	before_change(effective);
	return real_setresuid(CALLER)(user, effective, saved);
}

/* The C library has it, but declares it nowhere. */
int pivot_root(const char *root, const char *old);
REAL(pivot_root)

STAND_IN int pivot_root(const char *root, const char *old)
{
	thrum__adapt_start();
	return real_pivot_root(CALLER)(root, old);
}

STAND_IN int chroot(const char *path)
{
	thrum__adapt_start();
	return real_chroot(CALLER)(path);
}
