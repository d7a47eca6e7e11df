/* SPDX-License-Identifier: ISC */
/* `thrum metrics`: prints the state of running processes for Prometheus, or serves it over HTTP. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_MICROHTTPD
#include <dlfcn.h>
#include <microhttpd.h>
#endif

#include "base/text.h"
#include "line/interrupt.h"
#include "line/output.h"
#include "line/text.h"
#include "live/live.h"
#include "monitor/metrics.h"
#include "source/input.h"
#include "trace/load.h"

#define PARTS (THRUM__MONITOR_TASKS | THRUM__MONITOR_LANES)

struct metrics_options {
	const char *listen;
	bool once, labels;
	int format;
};

struct exporter {
	struct live *lives;
	size_t count;
	struct thrum__monitor_source *sources;
};

/* ---- Metrics --------------------------------------------------------------------------------- */

/* Samples all processes and writes their metrics. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
static int export(struct exporter *exporter, enum thrum__monitor_format format,
	struct thrum__base_text *text)
{
	for (size_t i = 0; i < exporter->count; i++) {
		struct live *live = &exporter->lives[i];

		if (live_sample(live, PARTS) != STATUS_OK)
			return STATUS_FAILED;
		exporter->sources[i] = (struct thrum__monitor_source){live->header.program,
			live->header.pid, live->has_ended, live->sample, &live->counters};
	}
	return thrum__monitor_metrics(exporter->sources, exporter->count, format, text) < 0
		? load_no_memory()
		: STATUS_OK;
}

static int print_once(struct exporter *exporter, enum thrum__monitor_format format)
{
	struct thrum__base_text text = thrum__base_text_growing();
	struct output out;
	int status = export(exporter, format, &text);

	if (status == STATUS_OK && output_open(&out, STDOUT_FILENO) < 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		output_bytes(&out, text.bytes, text.size);
		status = output_close(&out);
	}
	thrum__base_text_free(&text);
	return status;
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* Reads "127.0.0.1:9464", "[::1]:9464" or ":9464". Returns whether it is an address. */
static bool parse_address(const char *text, struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;

	memset(address, 0, sizeof(*address));
	if (!colon || !parse_id(colon + 1, strlen(colon + 1), &port) || port > 65535 ||
		(size_t)(colon - text) >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host[0] ? host : "127.0.0.1", &v4->sin_addr) == 1;
}

#ifdef HAVE_MICROHTTPD

/* It is loaded when it is needed: it brings libraries for TLS with it, which take long. */
#define LIBRARY "libmicrohttpd.so.12"
#define FUNCTIONS(X) \
	X(MHD_start_daemon) \
	X(MHD_stop_daemon) \
	X(MHD_get_daemon_info) \
	X(MHD_lookup_connection_value) \
	X(MHD_create_response_from_buffer) \
	X(MHD_add_response_header) \
	X(MHD_queue_response) \
	X(MHD_destroy_response)

static struct {
#define X(name) __typeof__(&(name)) name;
	FUNCTIONS(X)
#undef X
} library;

static bool load_library(void)
{
	void *file = dlopen(LIBRARY, RTLD_NOW);

#define X(name) \
	library.name = file ? (__typeof__(library.name))dlsym(file, #name) : NULL; \
	if (!library.name) \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
	const char *bytes, size_t size)
{
	struct MHD_Response *response = library.MHD_create_response_from_buffer(size, (void *)bytes,
		MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	library.MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = library.MHD_queue_response(connection, status, response);
	library.MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_with_metrics(struct exporter *exporter,
	struct MHD_Connection *connection)
{
	const char *accept = library.MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
		MHD_HTTP_HEADER_ACCEPT);
	bool is_open = accept && strstr(accept, "application/openmetrics-text");
	struct thrum__base_text text = thrum__base_text_growing();
	enum MHD_Result result;

	if (export(exporter, is_open ? THRUM__METRICS_OPENMETRICS : THRUM__METRICS_PROMETHEUS,
		    &text) == STATUS_OK)
		result = reply(connection, MHD_HTTP_OK,
			is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				: "text/plain; version=0.0.4; charset=utf-8",
			text.bytes, text.size);
	else
		result = reply(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain", "failed\n",
			strlen("failed\n"));
	thrum__base_text_free(&text);
	return result;
}

/* Answers a request. The server's one thread calls it. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *data, size_t *size, void **state)
{
	static const char elsewhere[] = "thrum metrics: see /metrics\n";

	(void)version, (void)data;
	/* The first call is made before the request's body arrives, which nobody needs. */
	if (!*state) {
		*state = context;
		return MHD_YES;
	}
	*size = 0;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", elsewhere,
			sizeof(elsewhere) - 1);
	if (strcmp(url, "/metrics") == 0)
		return reply_with_metrics(context, connection);
	return reply(connection, strcmp(url, "/") == 0 ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND,
		"text/plain", elsewhere, sizeof(elsewhere) - 1);
}

/* Says where the server listens: the system may have chosen the port. */
static void announce(struct MHD_Daemon *server, const char *listen)
{
	const union MHD_DaemonInfo *info = library.MHD_get_daemon_info(server,
		MHD_DAEMON_INFO_BIND_PORT);
	const char *colon = strrchr(listen, ':');

	complain("listening on http://%.*s:%u/metrics",
		colon > listen ? (int)(colon - listen) : (int)strlen("127.0.0.1"),
		colon > listen ? listen : "127.0.0.1", info ? (unsigned)info->port : 0);
}

/* Reads the recordings alone, as another thread may sample the processes meanwhile. */
static bool have_ended(const struct exporter *exporter)
{
	for (size_t i = 0; i < exporter->count; i++) {
		const struct thrum__input *input = &exporter->lives[i].input;
		struct thrum__header header;

		if (thrum__source_header(input, &header, NULL) == 0 &&
			thrum__source_is_recorded_to(input, &header))
			return false;
	}
	return true;
}

static int serve(struct exporter *exporter, const char *listen,
	const struct sockaddr_storage *address)
{
	const struct timespec pause = {0, 200000000};
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
	struct MHD_Daemon *server;

	if (address->ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (!load_library()) {
		complain("--listen needs the library %s (Debian: libmicrohttpd12)", LIBRARY);
		return STATUS_FAILED;
	}
	server = library.MHD_start_daemon(flags, 0, NULL, NULL, handle, exporter,
		MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)address, MHD_OPTION_CONNECTION_LIMIT,
		64U, MHD_OPTION_CONNECTION_TIMEOUT, 30U, MHD_OPTION_END);
	if (!server) {
		complain("can't listen on %s: the port may be in use, or the address not this "
			 "machine's",
			listen);
		return STATUS_FAILED;
	}
	announce(server, listen);
	interrupt_catch();
	while (!is_interrupted && !have_ended(exporter))
		nanosleep(&pause, NULL);
	nanosleep(&pause, NULL); /* for an answer that is under way */
	library.MHD_stop_daemon(server);
	if (!is_interrupted)
		complain("%s",
			exporter->count > 1 ? "all processes have ended" : "the process has ended");
	return STATUS_OK;
}

#else

static int serve(struct exporter *exporter, const char *listen,
	const struct sockaddr_storage *address)
{
	complain("this thrum was built without libmicrohttpd (Debian: libmicrohttpd-dev): only "
		 "--once works");
	return STATUS_FAILED;
}

#endif

/* ---- The command ----------------------------------------------------------------------------- */

static int run_metrics(const struct command *command, int argc, char **argv)
{
	struct metrics_options options = {0};
	struct exporter exporter = {0};
	struct sockaddr_storage address;
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (options.once == (options.listen != NULL))
		return complain_usage(command, "metrics needs --once or --listen=127.0.0.1:PORT");
	if (options.listen && !parse_address(options.listen, &address))
		return complain_usage(command,
			"--listen needs an address and a port such as 127.0.0.1:9464, not \"%s\"",
			options.listen);
	status = live_open_all(command, argv, (size_t)count, &exporter.lives);
	if (status != STATUS_OK)
		return status;
	exporter.count = (size_t)count;
	exporter.sources = calloc(exporter.count, sizeof(*exporter.sources));
	signal(SIGPIPE, SIG_IGN);
	if (!exporter.sources)
		status = load_no_memory();
	else if (options.labels)
		status = live_want_labels(exporter.lives, exporter.count);
	if (status == STATUS_OK && options.once)
		status = print_once(&exporter, (enum thrum__monitor_format)options.format);
	else if (status == STATUS_OK)
		status = serve(&exporter, options.listen, &address);
	free(exporter.sources);
	live_close_all(exporter.lives, exporter.count);
	return status;
}

#define OFFSET(member) offsetof(struct metrics_options, member)

static const struct option options_of_metrics[] = {
	{"listen", 'l', OPTION_STRING, OFFSET(listen), "ADDRESS:PORT", NULL,
		"serve http://ADDRESS:PORT/metrics until all\n"
		"processes have ended; port 0: any that is free"},
	{"once", '1', OPTION_FLAG, OFFSET(once), NULL, NULL, "print the metrics and end"},
	{"labels", 0, OPTION_FLAG, OFFSET(labels), NULL, NULL,
		"count the tasks of each label, too: how many ended,\n"
		"and their durations. thrum reads all events for that"},
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "openmetrics|prometheus",
		"with --once: OpenMetrics 1.0 (default), or the older\n"
		"text format of Prometheus. Over HTTP, clients ask\n"
		"for either"},
	{0},
};

const struct command command_metrics = {
	.name = "metrics",
	.purpose = "give the counters of running processes to Prometheus",
	.arguments = "PID|RECORDING...",
	.min = 1,
	.max = UINT32_MAX,
	.options = options_of_metrics,
	.reads_processes = true,
	.more = "The processes notice nothing. The metrics are the programs' counters, the live\n"
		"tasks by label, the load of the threads, and the events that could not be\n"
		"recorded (thrum_...). The counter server/latency-us becomes\n"
		"server_latency_seconds: names with -ns, -us, -ms are converted to seconds, and\n"
		"other characters than letters and digits become _. Distributions become\n"
		"histograms. Each metric has the labels program and pid.\n"
		"\n"
		"Listen on 127.0.0.1, unless others may read the labels of your tasks.",
	.examples = "thrum metrics 4711 --once\n"
		    "thrum metrics $(pidof server) --listen=127.0.0.1:9464",
	.statuses = "0  success\n"
		    "2  no such process, not a recording, or the port is in use\n"
		    "64 usage error",
	.run = run_metrics,
};
