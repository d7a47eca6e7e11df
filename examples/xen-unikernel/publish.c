/* SPDX-License-Identifier: ISC */
/* Tells dom0 where the recording is, by xenstore: a page with a ring of bytes for requests, and one for
 * the answers. */
#include "xen.h"

#include <stddef.h>
#include <xen/xen.h>

#include <xen/hvm/params.h>
#include <xen/io/xs_wire.h>

#include "machine.h"

static struct xenstore_domain_interface *store;
static unsigned channel;

static void send(const void *from, uint32_t size)
{
	const char *bytes = from;

	for (uint32_t i = 0; i < size; i++) {
		uint32_t put = store->req_prod;

		while (put - __atomic_load_n(&store->req_cons, __ATOMIC_ACQUIRE) ==
			XENSTORE_RING_SIZE) {
			xen_notify(channel);
			xen_yield();
		}
		store->req[MASK_XENSTORE_IDX(put)] = bytes[i];
		__atomic_store_n(&store->req_prod, put + 1, __ATOMIC_RELEASE);
	}
}

static void receive(void *to, uint32_t size)
{
	char *bytes = to;

	for (uint32_t i = 0; i < size; i++) {
		uint32_t get = store->rsp_cons;

		while (get == __atomic_load_n(&store->rsp_prod, __ATOMIC_ACQUIRE)) {
			xen_notify(channel);
			xen_yield();
		}
		bytes[i] = store->rsp[MASK_XENSTORE_IDX(get)];
		__atomic_store_n(&store->rsp_cons, get + 1, __ATOMIC_RELEASE);
	}
}

static uint32_t length(const char *text)
{
	uint32_t count = 0;

	while (text[count])
		count++;
	return count;
}

/* Writes a value below this domain's own folder. Returns whether that worked. */
static bool write(const char *key, const char *value)
{
	struct xsd_sockmsg message = {.type = XS_WRITE, .len = length(key) + 1 + length(value)};
	char unused;

	send(&message, sizeof message);
	send(key, length(key) + 1); /* the 0 behind it ends the key */
	send(value, length(value));
	xen_notify(channel);
	receive(&message, sizeof message);
	for (uint32_t i = 0; i < message.len; i++)
		receive(&unused, 1);
	return message.type == XS_WRITE;
}

bool xen_publish(const void *memory, unsigned pages)
{
	char list[32], *at = list + sizeof list;
	unsigned first = xen_share(memory, pages);

	if (!first)
		return false;
	store = (void *)(xen_parameter(HVM_PARAM_STORE_PFN) * 4096);
	channel = (unsigned)xen_parameter(HVM_PARAM_STORE_EVTCHN);
	/* "8-135": the numbers from 8 to 135. */
	*--at = '\0';
	at = machine_put_number(at, first + pages - 1);
	*--at = '-';
	at = machine_put_number(at, first);
	/* The recording's times are Xen's, so dom0 can compare them with its own. */
	return write("data/mprof/format", "thrum") && write("data/mprof/clock", "xen") &&
		write("data/mprof/ring-ref", at);
}
