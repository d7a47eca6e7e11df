/* SPDX-License-Identifier: ISC */
/* `thrum ship`: sends what the programs of this machine record to a NATS server. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/fleet.h"
#include "line/interrupt.h"
#include "line/text.h"
#include "port/port.h"
#include "server/positions.h"
#include "server/shipped.h"
#include "source/input.h"
#include "trace/input.h"
#include "trace/load.h"

#define MS UINT64_C(1000000)
#define DUE (1000 * MS)     /* between looks at packets that aren't full, and at folders */
#define GRACE (1000 * MS)   /* `thrum record` notes the end after the process is gone */
#define LOOK (10000 * MS)   /* between looks at the streams */
#define PING (5000 * MS)    /* between comparisons of clocks */
#define SAVE (3600000 * MS) /* between two notes that are the same */
#define PAUSE_LEAST 5       /* ms between steps */
#define PAUSE_MOST 200
#define AGAIN_LEAST 100 /* ms until the next try after a failure */
#define AGAIN_MOST 10000

struct ship_options {
	const char *to, *state, *host;
	int64_t keep;
	uint64_t max_size, replicas;
	bool once;
};

struct ship {
	const struct ship_options *options;
	struct shipped shipped;
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server; /* NULL: not connected */
	struct thrum__fleet_outlet outlet;
	uint64_t streams; /* thrum__fleet_make_streams */
	uint64_t look;    /* when to look for the streams again */
	uint64_t ping;    /* when to compare clocks again */
	bool has_failed;  /* the latest try */
	char failure[sizeof(((struct thrum_error_info *)0)->message)]; /* the last one reported */
	int status; /* STATUS_FAILED: a recording was damaged meanwhile */
	int again;  /* ms until the next try */
	int pause;  /* ms until the next step */
};

/* ---- Sending --------------------------------------------------------------------------------- */

/* Says how much of a recording is stored, and what was lost. */
static void report(const struct part *part, const char *how)
{
	const struct thrum__fleet_count *count = thrum__fleet_sender_count(part->sender);
	char packets[NUMBER_ROOM], size[NUMBER_ROOM];

	*put_count(packets, count->packets) = '\0';
	*put_size(size, count->bytes) = '\0';
	complain("%s: %s, %s packet%s (%s) stored", part->path, how, packets,
		count->packets == 1 ? "" : "s", size);
	if (count->overwritten > 0)
		complain("%s: %" PRIu64 " packet%s overwritten before %s stored; a greater "
			 "THRUM_SIZE loses less",
			part->path, count->overwritten, count->overwritten == 1 ? " was" : "s were",
			count->overwritten == 1 ? "it was" : "they were");
	if (count->damaged > 0)
		complain("%s: %" PRIu64 " damaged packet%s left out", part->path, count->damaged,
			count->damaged == 1 ? " was" : "s were");
}

/* Returns the server's name for messages, without a password. */
static const char *name_server(const struct ship *ship)
{
	const char *at = strrchr(ship->address.server, '@');

	return at ? at + 1 : strstr(ship->address.server, "://") + 3;
}

/* Reports a failure, unless it is the same as before, and waits longer after each. The next try connects
 * anew, and looks for the streams. */
static void note_failure(struct ship *ship, const struct thrum_error_info *error)
{
	uint32_t random;

	thrum__fleet_close(ship->server);
	ship->server = NULL;

	if (!ship->has_failed || strcmp(ship->failure, error->message) != 0)
		complain("%s: %s%s", name_server(ship), error->message,
			ship->options->once ? "" : "; tries again");
	ship->has_failed = true;
	memcpy(ship->failure, error->message, sizeof(ship->failure));
	ship->again = ship->again < AGAIN_LEAST ? AGAIN_LEAST : ship->again * 2;
	ship->again = ship->again > AGAIN_MOST ? AGAIN_MOST : ship->again;
	thrum__port_random(&random, sizeof(random));
	ship->pause = ship->again / 2 + (int)(random % (uint32_t)ship->again);
}

static void note_success(struct ship *ship)
{
	if (ship->has_failed)
		complain("%s: stores again", name_server(ship));
	ship->has_failed = false;
	ship->again = 0;
}

/* Connects, unless that is done. From time to time looks for the streams, too: another agent may have made
 * them again. */
static bool connect_server(struct ship *ship, uint64_t now)
{
	const struct thrum__fleet_keeping keeping = {ship->options->keep, ship->options->max_size,
		ship->options->replicas};
	struct thrum_error_info error = {0};
	int result = 0;

	if (ship->server && now < ship->look)
		return true;
	if (!ship->server)
		result = thrum__fleet_connect(&ship->address, &ship->server, &error);
	if (result == 0)
		result = thrum__fleet_make_streams(ship->server, &keeping, &ship->streams, &error);
	if (result == 0) {
		ship->outlet = thrum__fleet_outlet(ship->server);
		ship->look = now + LOOK;
		return true;
	}
	note_failure(ship, &error);
	return false;
}

static struct thrum__fleet_moment moment_of(struct ship *ship, struct part *part, uint64_t now,
	bool is_due)
{
	struct thrum__fleet_moment moment = {.now = (int64_t)thrum__port_realtime(),
		.is_due = is_due};
	struct thrum__header header;

	if (thrum__source_header(&part->input, &header, NULL) == 0)
		part->header = header;
	if (thrum__source_is_recorded_to(&part->input, &part->header)) {
		moment.ticks = thrum__source_ticks_now(&part->input);
		part->over_since = 0;
		return moment;
	}
	if (part->over_since == 0)
		part->over_since = now;
	moment.is_over = ship->options->once || now - part->over_since >= GRACE;
	moment.was_killed = thrum__source_was_killed(&part->input, &part->header);
	return moment;
}

/* Tells how many packets were overwritten while the server stored nothing, and why it didn't. */
static void explain_losses(const struct ship *ship, struct part *part)
{
	uint64_t overwritten = thrum__fleet_sender_count(part->sender)->overwritten;

	if (ship->has_failed && overwritten > part->overwritten)
		complain("%s: %" PRIu64 " packet%s overwritten meanwhile, as %s", part->path,
			overwritten - part->overwritten,
			overwritten - part->overwritten == 1 ? " was" : "s were", ship->failure);
	part->overwritten = overwritten;
}

/* Notes how much is stored, if it is more than before; also if it isn't from time to time, as old notes are
 * deleted. */
static void save_positions(const struct ship *ship, struct part *part, uint64_t now)
{
	const struct thrum__fleet_count *count = thrum__fleet_sender_count(part->sender);
	bool is_same = count->pieces == part->saved.pieces &&
		count->packets == part->saved.packets &&
		count->overwritten == part->saved.overwritten &&
		count->damaged == part->saved.damaged;

	if (is_same && part->saved_at && now - part->saved_at < SAVE &&
		!thrum__fleet_sender_is_done(part->sender))
		return;
	positions_save(ship->shipped.state, part->sender, &part->header, part->streams);
	part->saved = *count;
	part->saved_at = now;
}

/* Sends what is new of a recording. False: the server doesn't store now. */
static bool step_part(struct ship *ship, struct part *part, uint64_t now, bool is_due)
{
	struct thrum__fleet_moment moment;
	struct thrum_error_info error = {0};

	if (!is_due && part->over_since == 0 && thrum__fleet_sender_rests(part->sender))
		return true;
	moment = moment_of(ship, part, now, is_due);
	part->streams = ship->streams;
	int64_t sent = thrum__fleet_sender_step(part->sender, &ship->outlet, &moment, &error);

	/* That is no fault of the server's: sending goes on with the others. */
	if (sent == -THRUM_E_DAMAGED) {
		report(part, error.message);
		ship->status = STATUS_FAILED;
		shipped_close(part);
		return true;
	}
	if (sent < 0) {
		note_failure(ship, &error);
		return false;
	}
	explain_losses(ship, part);
	/* The faster the recorder goes round, the shorter the pauses. */
	if ((uint64_t)sent > part->header.packets / 8)
		ship->pause = PAUSE_LEAST;
	if (is_due || thrum__fleet_sender_is_done(part->sender))
		save_positions(ship, part, now);
	if (thrum__fleet_sender_is_done(part->sender)) {
		report(part, "its program has ended");
		shipped_close(part);
	}
	return true;
}

/* Compares this machine's clock with others from time to time, while something is recorded. */
static void compare_clocks(struct ship *ship, uint64_t now)
{
	const struct part *part = ship->shipped.first;

	while (part && !part->sender)
		part = part->next;
	if (!part || now < ship->ping)
		return;
	thrum__fleet_ping(ship->server, thrum__fleet_sender_key(part->sender));
	ship->ping = now + PING;
}

/* Sends what is new of all recordings. Returns whether any of them goes on. */
static bool step_all(struct ship *ship, bool is_due)
{
	uint64_t now = thrum__port_monotonic();
	bool goes_on = false, is_connected;

	ship->pause = ship->pause * 2 > PAUSE_MOST ? PAUSE_MOST : ship->pause * 2;
	is_connected = connect_server(ship, now);
	if (is_connected && shipped_again(&ship->shipped, ship->streams))
		complain("%s: it has lost what it kept; sends all again", name_server(ship));
	for (struct part *part = ship->shipped.first; part; part = part->next) {
		if (!part->sender)
			continue;
		is_connected = is_connected && step_part(ship, part, now, is_due);
		goes_on |= part->sender != NULL;
	}
	/* Other steps may have had nothing to store. */
	if (is_connected && is_due)
		note_success(ship);
	if (is_connected && !ship->options->once)
		compare_clocks(ship, now);
	return goes_on;
}

static void ship_all(struct ship *ship)
{
	uint64_t due = 0;
	bool goes_on = true;

	while (!is_interrupted && (goes_on || ship->shipped.watches)) {
		bool is_due = thrum__port_monotonic() >= due;

		if (is_due) {
			due = thrum__port_monotonic() + DUE;
			shipped_look(&ship->shipped);
		}
		goes_on = step_all(ship, is_due);
		if (!is_interrupted && (goes_on || ship->shipped.watches)) {
			struct timespec time = {ship->pause / 1000, ship->pause % 1000 * 1000000L};

			nanosleep(&time, NULL);
		}
	}
	if (is_interrupted)
		step_all(ship, true);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run_all(struct ship *ship)
{
	int status = positions_folder(ship->options->state, ship->shipped.state,
		sizeof(ship->shipped.state));

	if (status == STATUS_OK)
		status = shipped_add(&ship->shipped);
	if (status != STATUS_OK)
		return status;
	positions_tidy(ship->shipped.state);
	if (!ship->shipped.first && !ship->shipped.watches) {
		complain("nothing to send");
		return STATUS_FAILED;
	}
	if (ship->options->once)
		step_all(ship, true);
	else
		ship_all(ship);
	for (struct part *part = ship->shipped.first; part; part = part->next)
		if (part->sender)
			report(part,
				part->over_since ? "not all is stored" : "its program goes on");
	return ship->has_failed ? STATUS_FAILED : ship->status;
}

/* Answers come to a subject of this machine's own: so no agent needs the right to hear those of others. */
static void choose_inbox(struct ship *ship)
{
	char host[65] = "";

	if (!ship->options->host)
		gethostname(host, sizeof(host) - 1);
	thrum__fleet_inbox(ship->options->host ? ship->options->host : host, ship->address.inbox);
}

static int run_ship(const struct command *command, int argc, char **argv)
{
	struct ship_options options = {.keep = INT64_C(7) * 86400 * 1000000000, .replicas = 1};
	struct ship ship = {.options = &options,
		.shipped = {.command = command},
		.pause = PAUSE_LEAST};
	struct thrum_error_info error = {0};
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (!options.to)
		return complain_usage(command, "ship needs --to nats://SERVER");
	if (thrum__fleet_parse(options.to, 0, &ship.address, &error) < 0)
		return complain_usage(command, "--to %s: %s", options.to, error.message);
	if (!ship.address.inbox[0])
		choose_inbox(&ship);
	if (ship.address.pattern[0])
		return complain_usage(command, "--to names a server, not recordings");
	if (options.keep < 0 || options.replicas < 1 || options.replicas > 5)
		return complain_usage(command, "--keep can't be negative, --replicas is 1 to 5");
	ship.shipped.host = options.host;
	ship.shipped.arguments = argv;
	ship.shipped.argument_count = count;
	interrupt_catch();
	signal(SIGPIPE, SIG_IGN);
	status = run_all(&ship);
	shipped_finish(&ship.shipped);
	thrum__fleet_close(ship.server);
	return status;
}

#define OFFSET(member) offsetof(struct ship_options, member)

static const struct option options_of_ship[] = {
	{"to", 't', OPTION_STRING, OFFSET(to), "nats://SERVER", NULL,
		"the server: nats://[USER:PASSWORD@]HOST[:PORT], or\n"
		"tls://...; HOST,HOST for a cluster; ?creds=FILE,\n"
		"ca=FILE, cert=FILE&key=FILE name files with what\n"
		"the server asks for, inbox=SUBJECT where answers\n"
		"come to (default: _INBOX.HOST)"},
	{"host", 0, OPTION_STRING, OFFSET(host), "NAME", NULL,
		"the machine's name in traces (default: its own)"},
	{"once", '1', OPTION_FLAG, OFFSET(once), NULL, NULL,
		"send what is recorded so far, and end"},
	{"state", 0, OPTION_STRING, OFFSET(state), "FOLDER", NULL,
		"note there how much of each recording is stored\n"
		"(default: $STATE_DIRECTORY, or else\n"
		"~/.local/state/thrum)"},
	{"keep", 0, OPTION_TIME, OFFSET(keep), "TIME", NULL,
		"when the streams are made: how long the server keeps\n"
		"packets (default: 168h; 0: for ever)"},
	{"max-size", 0, OPTION_SIZE, OFFSET(max_size), "SIZE", NULL,
		"when the streams are made: how many bytes it keeps\n"
		"(default: no limit)"},
	{"replicas", 0, OPTION_COUNT, OFFSET(replicas), "N", NULL,
		"when the streams are made: on how many servers of a\n"
		"cluster, 1 to 5 (default: 1)"},
	{0},
};

const struct command command_ship = {
	.name = "ship",
	.purpose = "send what the programs of this machine record to a NATS server",
	.arguments = "FOLDER|PID|RECORDING...",
	.min = 1,
	.max = UINT32_MAX,
	.options = options_of_ship,
	.more = "One agent on each machine is enough. It reads the files that the programs write\n"
		"and never waits for them, nor they for it. It sends all recordings of a folder,\n"
		"also those that come later, until it is interrupted. The commands that read\n"
		"traces then take nats://SERVER/PATTERN: see thrum why --help.\n"
		"\n"
		"The server needs JetStream (nats-server --jetstream). Each message is stored\n"
		"once, also if the agent or the program is killed. While the server can't be\n"
		"reached, the recordings themselves keep the events. So a recording needs a size\n"
		"(THRUM_SIZE) of the program's rate times the longest outage. The agent says how\n"
		"many packets were overwritten before, and traces have gaps there.",
	.examples = "thrum ship /var/lib/thrum --to nats://trace.example.org\n"
		    "thrum ship 4711 --to 'tls://trace.example.org?creds=/etc/thrum/agent.creds'\n"
		    "thrum why 'nats://trace.example.org/web*?last=10m'",
	.statuses = "0  all that was recorded is stored\n"
		    "2  no recording, or the server doesn't store all of it\n"
		    "64 usage error",
	.run = run_ship,
};
