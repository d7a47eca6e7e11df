/* SPDX-License-Identifier: ISC */
/*
 * A recording's file. The file is completed under a temporary name and then renamed, so that nobody
 * ever sees half of it. While names are checked and changed, the directory is locked (flock)
 * against other programs that do the same. Somebody may hold that lock for ever, so a start waits for it
 * only for a while; without it, an older recording is locked while it is replaced, and no name is taken
 * that isn't free any more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

/* A byte beyond the end of any file. */
#define LOCK_BYTE ((off_t)1 << 61)
#define NAMES_MAX 99 /* of one process for one path */
#define TEMPORARY ".thrum~"
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* An entry of a directory, as the kernel gives it. */
struct entry {
	uint64_t inode, next;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Returns the negative enum thrum_error for an errno value. */
static int error_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR: return -THRUM_E_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS: return -THRUM_E_ACCESS;
	case ELOOP: return -THRUM_E_SYMLINK;
	case ENOSPC:
	case EDQUOT: return -THRUM_E_SPACE;
	case ENOMEM: return -THRUM_E_MEMORY;
	case ENAMETOOLONG: return -THRUM_E_ARGUMENT;
	default: return -THRUM_E_SYSTEM;
	}
}

/* Writes `pattern` to `to`, with %p, %e and %% replaced. Returns false if it doesn't fit. */
static bool expand_path(char *to, size_t size, const char *pattern)
{
	char part[256];
	size_t n = 0;

	for (const char *p = pattern; *p; p++) {
		part[0] = *p;
		part[1] = '\0';
		if (p[0] == '%' && p[1] == 'p')
			snprintf(part, sizeof part, "%u", thrum__port_pid()), p++;
		else if (p[0] == '%' && p[1] == 'e')
			thrum__port_program(part, sizeof part), p++;
		else if (p[0] == '%' && p[1] == '%')
			p++;
		size_t length = strlen(part);

		if (n + length >= size)
			return false;
		memcpy(to + n, part, length + 1);
		n += length;
	}
	return true;
}

/* Makes the directory if it doesn't exist. Returns 0 if it is a directory that belongs to this user
 * and that nobody else can write to, else a negative enum thrum_error. */
static int make_private_directory(const char *name)
{
	struct stat st;

	if (mkdir(name, 0700) && errno != EEXIST)
		return error_of(errno);
	if (lstat(name, &st))
		return error_of(errno);
	if (S_ISLNK(st.st_mode))
		return -THRUM_E_SYMLINK;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022)
		? 0
		: -THRUM_E_ACCESS;
}

/* Sets the path that a NULL path means (see port.h), and makes its directory. */
static int make_default_path(struct thrum__port_file *file)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char *directory = file->path;
	size_t size = sizeof file->path;
	int error = -THRUM_E_NOT_FOUND;

	if (runtime && runtime[0] == '/' && snprintf(directory, size, "%s/thrum", runtime) < 3900)
		error = make_private_directory(directory);
	if (error) {
		snprintf(directory, size, "/dev/shm/thrum-%u", (unsigned)geteuid());
		error = make_private_directory(directory);
	}
	if (error)
		return error;
	size_t n = strlen(directory);

	return expand_path(directory + n, size - n, "/%e-%p.thrum") ? 0 : -THRUM_E_ARGUMENT;
}

/* Opens the directory of the path and tries for 100 ms to lock it; goes on without the lock after
 * that. Returns the descriptor or a negative enum thrum_error. */
static int open_directory(struct thrum__port_file *file)
{
	const char *path = file->path, *slash = strrchr(path, '/');
	char *name = file->scratch;

	memcpy(name, ".", 2);
	if (slash == path)
		memcpy(name, "/", 2);
	else if (slash)
		memcpy(name, path, (size_t)(slash - path)), name[slash - path] = '\0';
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 100 && flock(fd, LOCK_EX | LOCK_NB); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return fd < 0 ? error_of(errno) : fd;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int lock(int fd, int command, struct flock *l)
{
	*l = (struct flock){.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_BYTE,
		.l_len = 1};
	return fcntl(fd, command, l);
}

bool thrum__port_file_lock(int fd)
{
	struct flock l;

	return lock(fd, F_OFD_SETLK, &l) == 0;
}

bool thrum__port_file_is_locked(int fd)
{
	struct flock l;

	return lock(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* Whether `fd` is the file of this name, and nobody else is replacing it. Then it stays locked (flock). */
static bool lock_old(int directory, const char *name, int fd)
{
	struct stat held, named;

	/* A file system without such locks is no reason to take another name. */
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return false;
	return fstat(fd, &held) == 0 &&
		fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* Closes the file that was to be replaced. A child forked meanwhile shares its lock: closing alone
 * would leave it locked. */
static void close_old(struct thrum__port_file *file)
{
	if (file->old < 0)
		return;
	flock(file->old, LOCK_UN);
	close(file->old);
	file->old = -1;
}

/* Judges the file at the path, which has this size; `file->old` is that file, opened. */
static enum thrum__port_claim judge_old(struct thrum__port_file *file, off_t size)
{
	ssize_t n = read(file->old, file->scratch, sizeof file->scratch);

	if (n <= 0)
		return n == 0 && size == 0 ? THRUM__PORT_OURS : THRUM__PORT_FOREIGN;
	return file->look(file->scratch, (size_t)n, thrum__port_file_is_locked(file->old));
}

/* Returns 0 if the name may be used, 1 if it is in use, else a negative enum thrum_error. */
static int check_name(struct thrum__port_file *file)
{
	const char *name = base_name(file->path);
	struct stat st;

	close_old(file);
	file->replaces = false;
	if (fstatat(file->directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : error_of(errno);
	if (S_ISLNK(st.st_mode))
		return -THRUM_E_SYMLINK;
	if (!S_ISREG(st.st_mode))
		return -THRUM_E_EXISTS;
	file->replaces = true;
	file->old = openat(file->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (file->old < 0)
		return st.st_size == 0 ? 0 : error_of(errno);
	switch (judge_old(file, st.st_size)) {
	case THRUM__PORT_OURS: return lock_old(file->directory, name, file->old) ? 0 : 1;
	case THRUM__PORT_IN_USE: return 1;
	case THRUM__PORT_REFUSED: return -THRUM_E_IN_USE;
	default: return -THRUM_E_EXISTS;
	}
}

/* Appends .PID, or .PID.2 and so on, to the path if it is in use. */
static int choose_name(struct thrum__port_file *file)
{
	size_t length = file->length, room = sizeof file->path - length;

	file->path[length] = '\0';
	int taken = check_name(file);

	for (int i = 1; taken == 1 && i <= NAMES_MAX; i++) {
		size_t size = (size_t)snprintf(file->path + length, room, i == 1 ? ".%u" : ".%u.%d",
			thrum__port_pid(), i);

		if (size >= room)
			return -THRUM_E_ARGUMENT;
		taken = check_name(file);
	}
	return taken == 1 ? -THRUM_E_EXISTS : taken;
}

/* Whether RLIMIT_FSIZE allows a file of this size. Beyond the limit, writing raises SIGXFSZ. */
static bool may_have_size(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
		size <= limit.rlim_cur;
}

/* Chooses a temporary name with 64 random bits. Returns false if it is too long. */
static bool name_temporary(struct thrum__port_file *file)
{
	uint64_t number;

	thrum__port_random(&number, sizeof number);
	return (size_t)snprintf(file->temporary, sizeof file->temporary, ".%s.%016llx" TEMPORARY,
		       base_name(file->path), (unsigned long long)number) < sizeof file->temporary;
}

/* Whether name_temporary() makes such names. */
static bool is_temporary(const char *name)
{
	size_t length = strlen(name), end = strlen(TEMPORARY);

	return name[0] == '.' && length > end + 18 && strcmp(name + length - end, TEMPORARY) == 0 &&
		name[length - end - 17] == '.' &&
		strspn(name + length - end - 16, "0123456789abcdef") == 16;
}

static void remove_leftover(int directory, const char *name)
{
	if (!is_temporary(name))
		return;
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	/* Partner: create_temporary(). The first of both to get the lock wins. */
	if (fd >= 0 && thrum__port_file_lock(fd))
		unlinkat(directory, name, 0);
	if (fd >= 0)
		close(fd);
}

/* Removes the temporary files that nobody holds any more. readdir() would allocate memory. */
static void remove_leftovers(struct thrum__port_file *file)
{
	long n;

	while ((n = syscall(SYS_getdents64, file->directory, file->scratch, sizeof file->scratch)) >
		0) {
		const struct entry *entry;

		for (long at = 0; at < n; at += entry->size) {
			entry = (const void *)(file->scratch + at);
			remove_leftover(file->directory, entry->name);
		}
	}
}

/* Whether another program has removed the temporary file, or is about to: where the directory can't
 * be locked, it may take a file that is just being made for one that was left. */
static bool is_taken_for_leftover(const struct thrum__port_file *file)
{
	struct stat st;

	return (!file->is_locked && thrum__port_file_is_locked(file->fd)) ||
		(fstat(file->fd, &st) == 0 && st.st_nlink == 0);
}

/* Makes the temporary file, and locks it. Returns 0 or a negative enum thrum_error. */
static int create_temporary(struct thrum__port_file *file, uint64_t size)
{
	for (int tries = 0; tries < NAMES_MAX; tries++) {
		if (!name_temporary(file))
			return -THRUM_E_ARGUMENT;
		file->fd = openat(file->directory, file->temporary,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file->fd < 0)
			return error_of(errno);
		file->is_locked = thrum__port_file_lock(file->fd);
		if (!is_taken_for_leftover(file))
			return ftruncate(file->fd, (off_t)size) ? error_of(errno) : 0;
		close(file->fd);
		file->fd = -1;
	}
	return -THRUM_E_IN_USE;
}

int thrum__port_file_create(struct thrum__port_file *file, const char *path, uint64_t size,
	thrum__port_look *look)
{
	int error = 0;

	file->fd = file->directory = file->old = -1;
	file->look = look;
	if (!path)
		error = make_default_path(file);
	else if (!expand_path(file->path, sizeof file->path, path) || !*base_name(file->path))
		error = -THRUM_E_ARGUMENT;
	if (error)
		return error;
	file->directory = open_directory(file);
	if (file->directory < 0)
		return file->directory;
	file->length = strlen(file->path);
	error = choose_name(file);
	if (!error && !may_have_size(size))
		error = -THRUM_E_SPACE;
	if (!error) {
		remove_leftovers(file);
		error = create_temporary(file, size);
	}
	if (error)
		thrum__port_file_abandon(file);
	return error;
}

void *thrum__port_file_map(const struct thrum__port_file *file, uint64_t size)
{
	void *memory = size > SIZE_MAX ? MAP_FAILED
				       : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
						 MAP_SHARED | MAP_NORESERVE, file->fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

bool thrum__port_file_map_at(const struct thrum__port_file *file, uint64_t offset, void *to,
	size_t size)
{
	size_t page = thrum__port_page_size();

	return offset % page == 0 && (uintptr_t)to % page == 0 && size % page == 0 &&
		thrum__port_map_over(to, size, MAP_SHARED, file->fd, offset);
}

int thrum__port_file_reserve(const struct thrum__port_file *file, uint64_t size)
{
	int error = posix_fallocate(file->fd, 0, (off_t)size);

	return error ? error_of(error) : 0;
}

int thrum__port_file_write(const struct thrum__port_file *file, uint64_t offset, const void *from,
	size_t size)
{
	const char *p = from;

	if (!may_have_size(offset + size))
		return -THRUM_E_SPACE;
	while (size > 0) {
		ssize_t n = pwrite(file->fd, p, size, (off_t)offset);

		if (n < 0 && errno != EINTR)
			return error_of(errno);
		if (n > 0)
			p += n, offset += (uint64_t)n, size -= (size_t)n;
	}
	return 0;
}

static void close_all(struct thrum__port_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	close_old(file);
	if (file->directory >= 0) {
		/* As for close_old(). */
		flock(file->directory, LOCK_UN);
		close(file->directory);
	}
	file->fd = file->directory = -1;
}

/* Gives the file its name. Returns 0, 1 if the name was free and isn't any more, or a negative
 * enum thrum_error. */
static int rename_temporary(const struct thrum__port_file *file)
{
	const char *name = base_name(file->path);
	int at = file->directory;

	if (!file->replaces) {
		if (!syscall(SYS_renameat2, at, file->temporary, at, name, RENAME_NOREPLACE))
			return 0;
		if (errno == EEXIST)
			return 1;
	}
	/* Some file systems know no such rule. */
	return renameat(at, file->temporary, at, name) ? error_of(errno) : 0;
}

int thrum__port_file_commit(struct thrum__port_file *file)
{
	int error = rename_temporary(file);

	for (int tries = 0; error == 1 && tries < NAMES_MAX; tries++) {
		error = choose_name(file);
		if (!error)
			error = rename_temporary(file);
	}
	if (error == 1)
		error = -THRUM_E_EXISTS;
	if (error)
		unlinkat(file->directory, file->temporary, 0);
	close_all(file);
	return error;
}

void thrum__port_file_abandon(struct thrum__port_file *file)
{
	if (file->fd >= 0)
		unlinkat(file->directory, file->temporary, 0);
	close_all(file);
}
