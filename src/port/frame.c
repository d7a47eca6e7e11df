/* SPDX-License-Identifier: ISC */
/* How a function's frame lies on the stack, as .eh_frame tells it (DWARF 5, section 6.4; LSB, "Exception
 * Frames"). Entries that aren't plain are left alone. */
#include <string.h>

#include "port/port.h"

#if defined(__x86_64__)
#define POINTER 6
#define STACK 7
#define RETURNS 16
#elif defined(__i386__)
#define POINTER 5
#define STACK 4
#define RETURNS 8
#elif defined(__aarch64__)
#define POINTER 29
#define STACK 31
#define RETURNS 30
#endif

#ifdef POINTER

#define STATES 4 /* that are remembered */

/* Where a register is that the caller's code still needs. */
struct rule {
	enum {
		UNCHANGED,
		AT, /* below the frame's end by `offset` */
		STRANGE
	} sort;
	int64_t offset;
};

struct state {
	uint64_t base; /* register, or STRANGE_BASE */
	int64_t offset;
	struct rule pointer, returns;
};
#define STRANGE_BASE UINT64_MAX

struct table {
	const uint8_t *at, *end;
	bool is_bad;
	uint64_t code_unit;
	int64_t data_unit;
	struct state now, first, before[STATES];
	unsigned remembered;
};

/* ---- Numbers ----------------------------------------------------------------------------------- */

static uint64_t take(struct table *t, unsigned size)
{
	uint64_t number = 0;

	if ((size_t)(t->end - t->at) < size) {
		t->is_bad = true;
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		number |= (uint64_t)t->at[i] << 8 * i;
	t->at += size;
	return number;
}

static uint64_t take_leb(struct table *t, bool is_signed)
{
	uint64_t number = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(t, 1);
		if (shift < 64)
			number |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !t->is_bad);
	if (is_signed && byte & 0x40 && shift < 64)
		number |= UINT64_MAX << shift;
	return number;
}

/* The size of an encoded address; 0: it isn't plain. */
static unsigned size_of(unsigned encoding)
{
	switch (encoding & 7) {
	case 0: return sizeof(void *);
	case 2: return 2;
	case 3: return 4;
	case 4: return 8;
	default: return 0;
	}
}

/* ---- Instructions ------------------------------------------------------------------------------ */

static void set(struct table *t, uint64_t number, struct rule rule)
{
	if (number == POINTER)
		t->now.pointer = rule;
	else if (number == RETURNS)
		t->now.returns = rule;
	else if (number == STACK)
		t->is_bad = true;
}

static void set_at(struct table *t, uint64_t number, int64_t offset)
{
	set(t, number, (struct rule){AT, offset * t->data_unit});
}

static void restore(struct table *t, uint64_t number)
{
	set(t, number, number == POINTER ? t->first.pointer : t->first.returns);
}

static void skip_block(struct table *t)
{
	uint64_t size = take_leb(t, false);

	if (size > (uint64_t)(t->end - t->at))
		t->is_bad = true;
	else
		t->at += size;
}

/* One of the instructions of a byte of their own. Returns by how much the place moves on. */
static uint64_t run_long(struct table *t, unsigned code)
{
	uint64_t number;

	switch (code) {
	case 0x00: return 0;
	case 0x02: return take(t, 1) * t->code_unit; /* advance_loc1 */
	case 0x03: return take(t, 2) * t->code_unit;
	case 0x04: return take(t, 4) * t->code_unit;
	case 0x05: /* offset_extended */
		number = take_leb(t, false);
		set_at(t, number, (int64_t)take_leb(t, false));
		return 0;
	case 0x06: restore(t, take_leb(t, false)); return 0;
	case 0x08: set(t, take_leb(t, false), (struct rule){UNCHANGED, 0}); return 0;
	case 0x0a: /* remember_state */
		if (t->remembered == STATES)
			t->is_bad = true;
		else
			t->before[t->remembered++] = t->now;
		return 0;
	case 0x0b: /* restore_state */
		if (t->remembered == 0)
			t->is_bad = true;
		else
			t->now = t->before[--t->remembered];
		return 0;
	case 0x0c: /* def_cfa */
		t->now.base = take_leb(t, false);
		t->now.offset = (int64_t)take_leb(t, false);
		return 0;
	case 0x0d: t->now.base = take_leb(t, false); return 0;
	case 0x0e: t->now.offset = (int64_t)take_leb(t, false); return 0;
	case 0x0f: /* def_cfa_expression */
		t->now.base = STRANGE_BASE;
		skip_block(t);
		return 0;
	case 0x07: /* undefined */
	case 0x10: /* expression, val_offset, val_expression, register */
	case 0x14:
	case 0x16:
	case 0x09:
		set(t, take_leb(t, false), (struct rule){STRANGE, 0});
		if (code == 0x10 || code == 0x16)
			skip_block(t);
		else if (code != 0x07)
			take_leb(t, false);
		return 0;
	case 0x2e: take_leb(t, false); return 0; /* the size of arguments on the stack */
	default: t->is_bad = true; return 0;
	}
}

/* Runs instructions up to the place that is `distance` behind the function's beginning. */
static void run(struct table *t, uint64_t distance)
{
	uint64_t here = 0;

	while (t->at < t->end && !t->is_bad) {
		unsigned code = (unsigned)take(t, 1), low = code & 0x3f;

		if (code >> 6 == 1)
			here += low * t->code_unit;
		else if (code >> 6 == 2)
			set_at(t, low, (int64_t)take_leb(t, false));
		else if (code >> 6 == 3)
			restore(t, low);
		else
			here += run_long(t, code);
		if (here > distance)
			return;
	}
}

/* ---- Entries ----------------------------------------------------------------------------------- */

/* Reads the head of the entry that several functions share. Returns how their addresses are encoded. */
static unsigned open_shared(struct table *t, const uint8_t *shared)
{
	char letters[8];
	unsigned count = 0, encoding = 0, version, personality;
	uint32_t size;

	memcpy(&size, shared, sizeof size);
	t->at = shared + 8;
	t->end = shared + 4 + size;
	t->is_bad = size < 8 || size > 4096;
	version = (unsigned)take(t, 1);
	while (!t->is_bad && count + 1 < sizeof letters && (letters[count] = (char)take(t, 1)))
		count++;
	letters[count] = '\0';
	t->code_unit = take_leb(t, false);
	t->data_unit = (int64_t)take_leb(t, true);
	if ((version == 1 ? take(t, 1) : take_leb(t, false)) != RETURNS || letters[0] != 'z')
		t->is_bad = true;
	take_leb(t, false);
	for (unsigned i = 1; i < count && !t->is_bad; i++) {
		switch (letters[i]) {
		case 'R': encoding = (unsigned)take(t, 1); break;
		case 'L': take(t, 1); break;
		case 'P':
			personality = size_of((unsigned)take(t, 1));
			t->is_bad |= personality == 0;
			take(t, personality);
			break;
		default: t->is_bad = true; /* also 'S': a signal's frame */
		}
	}
	return encoding;
}

bool thrum__port_find_frame(const void *entry, const void *begins, const void *returns,
	struct thrum__port_frame *frame)
{
	const uint8_t *bytes = entry;
	uint64_t distance = (uint64_t)((uintptr_t)returns - (uintptr_t)begins - 1), size;
	struct table table = {.at = NULL};
	uint32_t length;
	int32_t back;
	unsigned address;

	memcpy(&length, bytes, sizeof length);
	memcpy(&back, bytes + 4, sizeof back);
	if (length < 8 || length > 1u << 20)
		return false;
	address = size_of(open_shared(&table, bytes + 4 - back));
	run(&table, 0);
	table.first = table.now;
	if (table.is_bad || address == 0)
		return false;
	table.at = bytes + 8;
	table.end = bytes + 4 + length;
	take(&table, address);
	size = take(&table, address);
	skip_block(&table);
	run(&table, distance);
	const struct state *now = &table.now;

	if (table.is_bad || (now->base != STACK && now->base != POINTER) ||
		now->returns.sort != AT || now->pointer.sort == STRANGE || size > UINT32_MAX ||
		now->offset < 0 || now->offset > INT32_MAX || now->returns.offset < INT32_MIN ||
		now->pointer.offset < INT32_MIN || now->returns.offset >= 0 ||
		now->pointer.offset > 0)
		return false;
	*frame = (struct thrum__port_frame){.size = (uint32_t)size,
		.end = (int32_t)now->offset,
		.by_pointer = now->base == POINTER,
		.returns = (int32_t)now->returns.offset,
		.saved = now->pointer.sort == AT ? (int32_t)now->pointer.offset : 0};
	return true;
}

#else

bool thrum__port_find_frame(const void *entry, const void *begins, const void *returns,
	struct thrum__port_frame *frame)
{
	(void)entry;
	(void)begins;
	(void)returns;
	(void)frame;
	return false;
}

#endif
