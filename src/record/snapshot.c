/* SPDX-License-Identifier: ISC */
/* Copies the recording as it is now, by the same protocol as a reader in another process. */
#include <string.h>

#include "port/port.h"
#include "record/record.h"

static int64_t read_memory(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct recorder *r = owner;

	if (offset > r->size)
		return 0;
	if (size > r->size - offset)
		size = (size_t)(r->size - offset);
	/* Partner: the releases in begin_packet() and publish(). */
	thrum__port_copy_shared(to, (const uint8_t *)r->header + offset, size);
	return (int64_t)size;
}

static uint64_t size_of_memory(void *owner)
{
	return ((const struct recorder *)owner)->size;
}

static int write_file(void *owner, uint64_t offset, const void *from, size_t size)
{
	return thrum__port_file_write(owner, offset, from, size);
}

/* Judges an existing file: a copy never takes another name than the one that was asked for. */
static enum thrum__port_claim claim(const void *head, size_t size, bool is_locked)
{
	enum thrum__port_claim found = thrum__record_claim(head, size, is_locked);

	return found == THRUM__PORT_IN_USE ? THRUM__PORT_REFUSED : found;
}

int thrum_snapshot(const char *name)
{
	struct thrum__port_file file;
	struct recorder *r = atomic_load(&thrum__record_process.recorder);
	struct thrum__record unused;

	if (!name || !*name)
		return -THRUM_E_ARGUMENT;
	if (!r)
		return -THRUM_E_NOT_RECORDING;
	/* This lets readers of the snapshot know the clocks up to now. */
	thrum__record_note_clocks(r, &unused);

	struct thrum__input input = {r, read_memory, size_of_memory};
	struct thrum__output output = {&file, write_file};
	int error = thrum__port_file_create(&file, name, 0, claim);

	if (error)
		return error;
	error = thrum__format_copy(&input, &output, now() >> TICK_BITS, NULL);
	/* If the recording was stopped meanwhile, part of the copy may be empty. */
	if (!error && atomic_load(&thrum__record_process.recorder) != r)
		error = -THRUM_E_NOT_RECORDING;
	if (!error)
		return thrum__port_file_commit(&file);
	thrum__port_file_abandon(&file);
	return error;
}
