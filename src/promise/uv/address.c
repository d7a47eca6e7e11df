/* SPDX-License-Identifier: ISC */
/* Addresses: their names, and looking them up. */
#include "promise/uv/address.h"
#include <netdb.h>
#include <stdio.h>

void thrum__promise_address_name(const struct sockaddr *address, char *name, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

		uv_ip6_name(in6, host, sizeof(host));
		snprintf(name, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;

		if (address->sa_family == AF_INET)
			uv_ip4_name(in, host, sizeof(host));
		snprintf(name, size, "%s:%u", host,
			address->sa_family == AF_INET ? ntohs(in->sin_port) : 0u);
	}
}

/* ---- Looking up addresses -------------------------------------------------------------------- */

struct lookup {
	struct thrum__promise_held held;
	uv_getaddrinfo_t request;
};

static void lookup_canceled(struct thrum_resolver *resolver, void *data)
{
	struct lookup *lookup = data;

	/* lookup_done uses the resolver up, also after a cancellation. */
	uv_cancel((uv_req_t *)&lookup->request);
}

static void destroy_addresses(void *data)
{
	uv_freeaddrinfo(data);
}

static void lookup_done(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct lookup *lookup = request->data;

	thrum__promise_uv_end(&lookup->held, status, thrum_value_own(list, destroy_addresses));
}

struct thrum_promise *thrum__getaddrinfo(struct thrum_site *site, struct thrum_loop *loop,
	const char *node, const char *service, const struct addrinfo *hints)
{
	struct lookup *lookup = loop ? thrum__promise_hold(loop, sizeof(*lookup), NULL) : NULL;
	char label[THRUM__PROMISE_LABEL_SIZE];
	struct thrum_promise *promise;
	bool began;
	int code;

	if (!lookup)
		return thrum__promise_no_memory(loop);
	promise = thrum__promise_uv_begin(&lookup->held, site, THRUM_KIND_REQUEST,
		thrum__promise_uv_label(label, sizeof(label), "getaddrinfo %s%s%s",
			node ? node : "", service ? ":" : "", service ? service : ""),
		lookup_canceled, &began);
	if (!began)
		return promise;
	lookup->request.data = lookup;
	code = uv_getaddrinfo(thrum_loop_uv(loop), &lookup->request, lookup_done, node, service,
		hints);
	return code == 0 ? promise : thrum__promise_uv_refused(&lookup->held, promise, code);
}
