/* SPDX-License-Identifier: ISC */
/*
 * A rival: mirage-profile's layout, written in C. It is a mapped file of four packets. Each event
 * has a 64-bit time in ns, an op byte and 64-bit ids, packed. Every event updates the packet's
 * content size, at byte 26 of its header.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	PACKETS = 4,
	PACKET_SIZE = RING_SIZE / PACKETS,
	HEADER_SIZE = 30,
	OP_CREATES = 0,
	OP_LABEL = 5,
};

struct mirage {
	uint8_t *file;
	uint8_t *packet;
	uint32_t next; /* offset in the packet */
	unsigned active;
	uint16_t count;
};

static void put(uint8_t *to, uint64_t value, size_t size)
{
	memcpy(to, &value, size);
}

static void packet_open(struct mirage *mirage, unsigned index)
{
	mirage->active = index;
	mirage->packet = mirage->file + (size_t)index * PACKET_SIZE;
	mirage->next = HEADER_SIZE;
	put(mirage->packet + 24, mirage->count++, 2);
	put(mirage->packet + 26, HEADER_SIZE * 8, 4);
}

struct mirage *mirage_create(const char *file)
{
	static const uint8_t uuid[16] = {0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97,
		0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c};
	struct mirage *mirage = calloc(1, sizeof *mirage);
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!mirage || fd < 0 || ftruncate(fd, RING_SIZE))
		goto failed;
	mirage->file = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		0);
	if (mirage->file == MAP_FAILED)
		goto failed;
	close(fd);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint8_t *packet = mirage->file + (size_t)i * PACKET_SIZE;

		put(packet, 0xc1fc1fc1, 4);
		memcpy(packet + 4, uuid, sizeof uuid);
		put(packet + 20, PACKET_SIZE * 8, 4);
		put(packet + 26, HEADER_SIZE * 8, 4);
	}
	packet_open(mirage, 0);
	return mirage;
failed:
	free(mirage);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Makes room for an event. Returns the place of its fields. */
static inline uint8_t *event(struct mirage *mirage, uint8_t op, uint32_t size)
{
	struct timespec t;
	uint8_t *at;

	if (mirage->next + 9 + size > PACKET_SIZE)
		packet_open(mirage, (mirage->active + 1) % PACKETS);
	at = mirage->packet + mirage->next;
	mirage->next += 9 + size;
	put(mirage->packet + 26, mirage->next * 8, 4);
	clock_gettime(CLOCK_MONOTONIC, &t);
	put(at, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, 8);
	at[8] = op;
	return at + 9;
}

void mirage_creates(struct mirage *mirage, uint64_t thread, uint64_t child, uint8_t type)
{
	uint8_t *at = event(mirage, OP_CREATES, 17);

	put(at, thread, 8);
	put(at + 8, child, 8);
	at[16] = type;
}

void mirage_label(struct mirage *mirage, uint64_t thread, const char *text)
{
	size_t length = strlen(text);
	uint8_t *at = event(mirage, OP_LABEL, (uint32_t)(9 + length));

	put(at, thread, 8);
	memcpy(at + 8, text, length + 1);
}
