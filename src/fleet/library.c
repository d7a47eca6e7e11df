/* SPDX-License-Identifier: ISC */
/* Loads libnats, and words its failures. */
#include "fleet/library.h"

#include <dlfcn.h>
#include <string.h>

#include "read/read.h"

#define TEXT_OF(x) #x
#define NAME_OF(major, minor) "libnats.so." TEXT_OF(major) "." TEXT_OF(minor)

/* The structures of one version aren't those of another. The library stays loaded. */
int thrum__fleet_load(struct nats *nats, struct thrum_error_info *info)
{
	const char *name = NAME_OF(NATS_VERSION_MAJOR, NATS_VERSION_MINOR);
	void *library = dlopen(name, RTLD_NOW);

#define X(function) \
	nats->function = library ? (__typeof__(nats->function))dlsym(library, #function) : NULL; \
	if (!nats->function) \
		return thrum__read_error_set(info, -THRUM_E_SYSTEM, 0, \
			"needs the library %s (Debian: libnats%d.%d)", name, NATS_VERSION_MAJOR, \
			NATS_VERSION_MINOR);
	FUNCTIONS(X)
#undef X
	return 0;
}

int thrum__fleet_failed(struct thrum__fleet_server *s, natsStatus status, const char *doing,
	struct thrum_error_info *info)
{
	const char *words = s->nats.nats_GetLastError(NULL), *begin;

	/* The library begins with a place in its source: "(conn.c:1905): ". */
	begin = words && *words == '(' ? strstr(words, "): ") : NULL;
	words = begin ? begin + 3 : words;
	/* Nothing answers a message that is refused, but the server tells it to the connection. */
	if (status == NATS_TIMEOUT &&
		s->nats.natsConnection_GetLastError(s->connection, &begin) == NATS_NOT_PERMITTED &&
		!strstr(begin, THRUM__FLEET_PING))
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"%s: this user hasn't the right: %.120s", doing, begin);
	if (status == NATS_TIMEOUT)
		words = "no answer; it hangs, or this user hasn't the right";
	int error = status == NATS_NO_MEMORY ? -THRUM_E_MEMORY
		: status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED
		? -THRUM_E_ACCESS
		: status == NATS_NOT_FOUND ? -THRUM_E_NOT_FOUND
					   : -THRUM_E_SYSTEM;

	return thrum__read_error_set(info, error, 0, "%s: %.120s", doing,
		words && *words ? words : s->nats.natsStatus_GetText(status));
}
