/* SPDX-License-Identifier: ISC */
/* The state that the searches for findings share, and helpers for them. Private to analyse/why. */
#ifndef ANALYSE_WHY_PARTS_H
#define ANALYSE_WHY_PARTS_H

#include "analyse/graph.h"
#include "analyse/why/candidates.h"
#include "analyse/why/finding.h"
#include "analyse/why/peers.h"

#define THRUM__FINDINGS_EACH 50 /* findings of a class; nobody would read more */
#define THRUM__CAUSE_HEALTHY (THRUM__NONE - 1)
#define THRUM__CAUSE_PATH (THRUM__NONE - 2) /* lies on the path that stuck.c follows now */

#define THRUM__LOST_MAX 32

/* A message that nobody received, though those of the sender's peers were. */
struct thrum__lost {
	uint32_t sender, receiver; /* receiver: the task that received one of the others */
	int64_t time;              /* when it was sent */
	/* The receiver's wait, if it is the latest message of a connection; else NONE. */
	uint32_t wait;
	bool is_left; /* the latest of a connection, too; the receiver's loop waits for other work */
};

/* A request that ended in a thread's loop and began no task, though those like it did. */
struct thrum__why_dropped {
	uint32_t task; /* NONE: there is none, or several */
	uint32_t like; /* the latest that did; NONE: the task stands for a child that was taken */
};

#define THRUM__PAUSES 8

/* A time shortly before the end in which nothing happened at all, if something outside ended the program: as
 * if the machine had paused. */
struct thrum__why_pause {
	int64_t from, to;
	bool is_at_work; /* a task ran meanwhile, or was to run, so not all just waited */
};

/* Each is longer than all that came later: so the first one after a time is the longest since. */
struct thrum__why_pauses {
	struct thrum__why_pause all[THRUM__PAUSES];
	unsigned count;
};

struct thrum__search {
	const struct thrum__model *model;
	struct thrum__findings *findings;
	struct thrum__peers peers;
	struct thrum__analyse_graph graph; /* who waits for whom: ask it, and not the edges */
	uint8_t *sorts;                    /* by place of tasks: read it through thrum__why_next */
	uint32_t each[THRUM__FINDING_CLASSES]; /* findings so far, by class */
	/* By place of tasks: the index of the finding that the task is part of or waits behind.
	 * HEALTHY: the task needs no finding, as its wait is expected to end or nothing more is
	 * to be told of it. NONE: not known yet. Read it through thrum__cause. */
	uint32_t *cause;
	int64_t gap;        /* when the last gap of any lane ended; -1: there is no gap */
	uint64_t runs_left; /* how many runs the search for starved tasks may still read */
	/* The state of the program at the end, as stuck.c finds it: */
	bool is_dead;       /* each lane that is left is blocked in a wait */
	bool is_deadlocked; /* a loop has nothing left that could end its wait */
	/* In a trace of several processes, is_dead is about the victim's. By lane, and last for all processes
	 * together: whether that of the lane is dead. */
	uint8_t *process;
	/* The program was killed, nobody knows when, and each lane rested then: so tasks may be far older
	 * than the recording shows. */
	bool is_open;
	bool is_stranded; /* is_open, and nothing is pending that something outside the program ends */
	struct thrum__why_pauses pauses;
	bool is_silent; /* a signal ended the program after a silence as never before */
	bool is_still;  /* the same, but timers may have run in that silence */
	/* If is_still, and the program has connections: its requests by call site; else NULL. */
	struct thrum__why_site *sites;
	/* Set by dropped.c: what it found in the loop of this lane; NONE: nobody has asked yet. */
	uint32_t dropped_lane;
	struct thrum__why_dropped dropped;
	/* Set by mutual.c: a condition whose waiters belong to the finding that is being told; or NONE. */
	uint32_t joined;
	/* Set by late/turns.c: a task whose run doesn't end, and when it began; or NONE. */
	uint32_t endless;
	int64_t endless_since;
	struct thrum__lost lost[THRUM__LOST_MAX]; /* messages that nobody received */
	uint32_t lost_count;
	/* Tasks and runs that may still be searched for those to blame and failed tries. */
	uint32_t budget;
	unsigned phase; /* where stuck.c goes on: with which tasks, and with which of these */
	uint32_t at;
};

/* The task's element of `cause`. */
static inline uint32_t *thrum__cause(const struct thrum__search *search, uint32_t task)
{
	return &search->cause[thrum__place(&search->findings->places, task)];
}

/* The first task at or after `task` that is of one of these sorts; model->tasks.count if there is
 * none. */
static inline uint32_t thrum__why_next(const struct thrum__search *search, uint32_t task,
	unsigned sorts)
{
	const struct thrum__places *places = &search->findings->places;

	/* Place 0 is of no sort. */
	return search->sorts[thrum__place(places, task)] & sorts
		? task
		: thrum__why_candidate(search->model, places, search->sorts, task, sorts);
}

/* for (uint32_t task = …; …): all tasks of these sorts. */
#define THRUM__WHY_EACH(search, task, sorts) \
	for (uint32_t task = thrum__why_next(search, 0, sorts); \
		task < (search)->model->tasks.count; \
		task = thrum__why_next(search, task + 1, sorts))

/* Takes so many tasks from those that may still be searched. Returns false if these are fewer. */
static inline bool thrum__why_spend(struct thrum__search *search, uint32_t tasks)
{
	if (search->budget < tasks)
		return false;
	search->budget -= tasks;
	return true;
}

/* The first wait of a task, as the graph has it; NULL: it waits for nothing, or is forgotten. */
static inline const struct thrum__analyse_wait *thrum__why_wait_of(const struct thrum__search
									   *search,
	uint32_t task)
{
	return thrum__model_has_row(&search->model->tasks, task)
		? thrum__analyse_graph_waits(&search->graph, task).waits
		: NULL;
}

/* Adds a finding about a task, without steps. Returns NULL if the class has enough of them. The
 * pointer is valid until the searches end. */
struct thrum__finding *thrum__why_add(struct thrum__search *, int class, int certainty,
	uint32_t task);

/* Whether two tasks are peers, or the same. */
bool thrum__why_are_peers(const struct thrum__search *, uint32_t a, uint32_t b);
/* Whether two tasks were made at the same place, or are peers. */
bool thrum__why_is_alike(const struct thrum__search *, uint32_t a, uint32_t b);

/* Whether the names of two tasks have one pattern (analyse/label.h). The second task may be unknown. */
bool thrum__why_are_named_alike(const struct thrum__model *, uint32_t a, uint32_t b);

/* Returns the finding of that class about this task or one like it, or NULL. */
struct thrum__finding *thrum__why_find_alike(struct thrum__search *, int class, uint32_t task);

/* Adds a step to a finding. Returns it; NULL: there is no room, as the finding has THRUM__STEPS_MAX. */
struct thrum__step *thrum__why_add_step(struct thrum__finding *, int kind, uint32_t task,
	uint32_t other, int64_t time, uint32_t edge);

/* Adds one at an edge. */
static inline struct thrum__step *thrum__why_add_at(struct thrum__finding *finding,
	const struct thrum__model *model, int kind, uint32_t task, uint32_t other, uint32_t edge)
{
	return thrum__why_add_step(finding, kind, task, other, THRUM__EDGE(model, edge, time),
		edge);
}

/* Adds one at the time when its task ended. */
struct thrum__step *thrum__why_add_end(struct thrum__finding *, const struct thrum__model *,
	int kind, uint32_t task, uint32_t other);

/* Whether one of the steps from this one on is about a task. */
bool thrum__why_has_step(const struct thrum__finding *, unsigned from, uint32_t task);

/* Moves the last step, so that so many come before it. */
void thrum__why_move_last(struct thrum__finding *, unsigned before);

/* Sets what more is to be told in a step, unless that is NULL. */
void thrum__why_set_more(struct thrum__step *, uint32_t more);

/* Adds steps for those who hold a lock that some task waits for: that of `first` before the others,
 * unless it is NONE. At most three; the last says how many more there are. */
void thrum__why_add_holders(const struct thrum__search *, struct thrum__finding *, uint32_t lock,
	uint32_t first);

/* Returns `certainty`, or POSSIBLE if a gap ended after `since`: for conclusions that need all
 * events since then. */
int thrum__why_certainty(const struct thrum__search *, int certainty, int64_t since);

/* Whether a pending task may have ended in a gap. A task that the table of live tasks still holds
 * has not. */
bool thrum__why_is_unsure(const struct thrum__search *, uint32_t task);

/* Marks a task and all that it became, up to one that has this mark or a higher one already. */
void thrum__why_mark(struct thrum__search *, uint32_t task, int mark);

/* Returns the edge of the condition's latest signal, if it came no later than the time `wait` and
 * nobody heard it; else NONE. Also NONE if it came from the waiter itself, or if earlier signals were
 * unheard as well, and waits that began after them ended: then the program doesn't rely on signals
 * alone. Also NONE if the task that gave it waits for work itself, and another task may have taken that, or
 * if the waiter had a look at what the signal told before it began to wait. */
uint32_t thrum__why_lost_signal(const struct thrum__model *, uint32_t condition, uint32_t waiter,
	int64_t wait);

/* Returns the lock of a condition, one that some waiter released to wait for it; or NONE. */
uint32_t thrum__why_lock_of_condition(const struct thrum__model *, uint32_t condition);

/* Whether no task heard a signal of the condition before this one, which is an edge. */
bool thrum__why_is_only_signal(const struct thrum__model *, uint32_t signal);

/* How it is known that a task was ready. */
enum thrum__delay_kind {
	THRUM__DELAY_READ,   /* its wait was over, or its due time had come */
	THRUM__DELAY_MARKED, /* an edge READY says so */
	THRUM__DELAY_START,  /* it never ran, and others like it ran soon */
	THRUM__DELAY_TURN,   /* it took turns on its lane until one task kept it */
	THRUM__DELAY_ANSWER, /* it may have been: its lane could take no answer from outside */
};

/* A time in which a task was ready and didn't run. */
struct thrum__delay {
	uint8_t kind, certainty; /* enum thrum__delay_kind, enum thrum__certainty */
	bool has_run;            /* it ran at last; if not, it waits at the model's end */
	uint32_t task, by;       /* by: the task that made it ready, or NONE */
	uint32_t lane;           /* on which it would run */
	int64_t ready, ran;      /* ran: the model's end if it never ran */
	uint32_t edge;           /* by which it ran at last, or NONE */
};

/* Looks which task had the lane during a delay, and adds that to the findings. Returns whether one
 * had it nearly all the time, or tasks that became ready later had it. */
bool thrum__why_blame_hog(struct thrum__search *, const struct thrum__delay *);

/* The latest task whose like have nearly all turns of a loop since then; or NONE. Sets *count to how many
 * turns, of the last 4,096. */
uint32_t thrum__why_busy_with(const struct thrum__search *, uint32_t lane, int64_t since,
	unsigned *count);

/* Whether a task was said to be ready, and still is: it waits for nothing but its lane. */
bool thrum__why_is_said_ready(const struct thrum__model *, uint32_t task);

/* A task that is to blame, as it ended without ending another: a step without its finding. */
struct thrum__why_blame {
	int kind; /* enum thrum__step_kind; -1: nobody is to blame */
	uint32_t task, other;
	unsigned count; /* RESOLVED_OTHERS: it was the last of so many; 0: it was the only one */
};

/* Finds who is to blame for a task that waits for nothing. Tasks that ended at the time `before` or
 * later count as pending. */
struct thrum__why_blame thrum__why_blame(struct thrum__search *, uint32_t task, int64_t before);

/* The step that blames a task which has ended for not having ended `other`. */
struct thrum__why_blame thrum__why_blame_ended(const struct thrum__model *, uint32_t task,
	uint32_t other);

/* Adds the step. */
void thrum__why_add_blame(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_blame *);

/* Whether each of the few others like a task was ended by one that was made right after it by the same task,
 * and nobody made such a one for this. O(1). */
bool thrum__why_lacks_ender(const struct thrum__search *, uint32_t task);

/* Returns the task that should end this one, as its like did with the peers; NONE if that isn't
 * known. Sets *usual to the task that ended a peer; if no task like that is here, *usual is set and
 * the result is NONE. */
uint32_t thrum__why_ender_of(struct thrum__search *, uint32_t task, uint32_t *usual);

/* Returns the task that ended all tasks like this one, if it was always the same: also a thread on
 * which they ran. It may have ended. NONE: there is none. */
uint32_t thrum__why_steady_ender(struct thrum__search *, uint32_t task);

/* The last of several tasks that ended all like this one, in turn, if all of these have ended and left one.
 * Sets *count to how many they are. NONE: there is none. */
uint32_t thrum__why_last_ender(struct thrum__search *, uint32_t task, unsigned *count);

#define THRUM__WHY_NO_BLAME ((struct thrum__why_blame){-1, THRUM__NONE, THRUM__NONE, 0})

#define THRUM__SERVERS_MAX 32

/* The tasks that ended others' waits for an object, the latest first. */
struct thrum__why_servers {
	uint32_t task[THRUM__SERVERS_MAX], edge[THRUM__SERVERS_MAX];
	unsigned count, pending;
	bool is_whole; /* no more of them are known to exist or may be forgotten */
};

void thrum__why_servers_of(const struct thrum__model *, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *);

/* Whether a row is one of these. */
static inline bool thrum__why_is_among(const uint32_t *rows, uint32_t count, uint32_t row)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i] == row)
			return true;
	return false;
}

static inline bool thrum__why_is_server(const struct thrum__why_servers *servers, uint32_t task)
{
	return thrum__why_is_among(servers->task, servers->count, task);
}

/* Whether a list of rows ends because the rest is forgotten. `row` is the index at which it ends. */
static inline bool thrum__why_is_cut(const struct thrum__model_rows *rows, uint32_t row)
{
	return row != THRUM__NONE && !thrum__model_has_row(rows, row);
}

/* Whether a lane was suspended for this reason: a row of suspensions; false if it isn't known. */
bool thrum__why_rests_for(const struct thrum__model *, uint32_t suspension, const char *reason);

/* The suspension that tells for what a lane rests, or NONE. In a trace of several processes, a
 * process that ended before others has one more, which says so. */
uint32_t thrum__why_resting(const struct thrum__model *, const struct thrum__lane *);

/* Whether it is known that a lane's process ended, before others of the trace. */
bool thrum__why_has_ended(const struct thrum__model *, const struct thrum__lane *);

/* When the process of a task ended, if that is known; else the model's end. Any index is allowed. */
int64_t thrum__why_end_of(const struct thrum__model *, uint32_t task);

/* The lane on which a task ran last; NONE if that isn't known. Any index is allowed. */
uint32_t thrum__why_last_lane(const struct thrum__model *, uint32_t task);

/* Whether a lane rests for this reason; false for NONE. */
bool thrum__why_lane_rests_for(const struct thrum__model *, uint32_t lane, const char *reason);

/* The same of the lane of a task. */
bool thrum__why_thread_rests_for(const struct thrum__model *, uint32_t task, const char *reason);

/* Returns the task, or NONE if the model has forgotten it: for the other task of a step. */
static inline uint32_t thrum__why_known(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
}

/* The last of those that a task became, or itself; NONE: that is forgotten. */
static inline uint32_t thrum__why_heir_of(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? thrum__model_heir(model, task)
							 : THRUM__NONE;
}

/* The middle between a time and the trace's end. Any times may be recorded. */
static inline int64_t thrum__why_middle(const struct thrum__model *model, int64_t since)
{
	return since / 2 + model->end / 2;
}

/* The latest edge of a kind that leads to a task, or NONE. */
uint32_t thrum__why_edge_to(const struct thrum__model *, uint32_t task, int kind);

/* The latest edge of a kind by which a task acts, or NONE. */
uint32_t thrum__why_edge_from(const struct thrum__model *, uint32_t task, int kind);

/* Whether a task ever acted on another one so, by an edge of this kind. */
bool thrum__why_has_acted(const struct thrum__model *, uint32_t task, int kind, uint32_t on);

/* The task that the waiter made ready before a wait, if it did nothing since but wait; or NONE. */
uint32_t thrum__why_made_ready(const struct thrum__model *, const struct thrum__analyse_wait *);

/* The edge by which it did so, or NONE. */
uint32_t thrum__why_ready_edge(const struct thrum__model *, const struct thrum__analyse_wait *);

/* The task that acts by an edge; NONE if there is no edge or none acts, or if it is forgotten. */
uint32_t thrum__why_actor(const struct thrum__model *, uint32_t edge);

/* The same of the latest edge of a kind that leads to a task. */
uint32_t thrum__why_actor_to(const struct thrum__model *, uint32_t task, int kind);

/* The task on which another one acted last by an edge of a kind; NONE likewise. */
uint32_t thrum__why_acted_on(const struct thrum__model *, uint32_t task, int kind);

/* The time at which a task is due; -1: unknown. */
int64_t thrum__why_due_of(const struct thrum__model *, uint32_t task);

/* If a pending task could go on and doesn't (it waited for a task that has ended, and has not run
 * since), returns the edge of that wait and sets *since to the time of that end. Else returns
 * NONE. */
uint32_t thrum__why_ready_since(const struct thrum__search *, uint32_t task, int64_t *since);

/* Whether a time lies in the slack before the end: the last 10 ms, or 1 % of a short trace. Others
 * may not have had time to react to what happened then. */
bool thrum__why_is_recent(const struct thrum__model *, int64_t time);

/* Whether a task may live as long as somebody outside likes, as its name says: a connection, a
 * client, a request that reads. */
bool thrum__why_is_lasting(const struct thrum__model *, uint32_t task);

#define THRUM__SOON 100000000         /* ns */
#define THRUM__SOON_OUTSIDE 500000000 /* the same for answers, if nobody knows when it ended */
#define THRUM__WAKING 20000000 /* on a busy machine, a thread that was woken may run no sooner */

/* Whether a task that is so old may just be under way although none like it ended: something outside
 * ended the recording, or it goes on, so soon that nothing tells how long such tasks take. */
static inline bool thrum__why_is_too_soon(const struct thrum__model *model, int64_t age,
	bool is_outside)
{
	switch (model->ending) {
	case THRUM_ENDING_GONE: return age < (is_outside ? THRUM__SOON_OUTSIDE : THRUM__SOON);
	case THRUM_ENDING_KILLED:
	case THRUM_ENDING_RUNNING:
	case THRUM_ENDING_COPIED: return age < THRUM__SOON;
	default: return false;
	}
}

/* Whether the program was killed by a signal by which a healthy one is told to end, or that it sends
 * itself. */
bool thrum__why_is_polite(const struct thrum__model *);
/* Sets is_silent: a signal killed the program, and nothing had happened for far longer than ever before. Not
 * for signals by which a healthy program is told to end. Sets is_still: the same, though timers may still
 * run, as they have no effect any more. O(tasks + runs + edges), if a signal killed it. */
void thrum__why_find_silence(struct thrum__search *);

/* Finds the pauses. O(tasks + runs + edges) of the last second. */
void thrum__why_find_pauses(const struct thrum__model *, struct thrum__why_pauses *);

/* Whether anybody outside sent a message into the program. O(messages). */
bool thrum__why_heard_outside(const struct thrum__model *);

/* Whether something from outside the program can come: requests are pending, or handles, or, if they count,
 * timers. Not those whose names begin with one of these words, as the adapters name wake-ups by the program
 * itself. O(tasks). */
bool thrum__why_awaits_outside(const struct thrum__model *, const char *const *own, size_t count,
	bool by_timers);

/* Whether a timer that is left began a task: it may do so again. */
bool thrum__why_is_of_timer(const struct thrum__model *, uint32_t task);

/* Whether nothing but timers ran in the last second. */
bool thrum__why_only_timers_ran(const struct thrum__model *);

/* Whether nothing but timers has run for long, no request is pending, and each timer has come again and again
 * since a time. O(tasks + runs of the last second). */
bool thrum__why_only_ticks(const struct thrum__model *, int64_t since);

/* Returns the edge of the latest signal of a condition, if it was signalled often until nothing but timers
 * went on in the program; NONE: that isn't so, or not for long. O(tasks + runs since). */
uint32_t thrum__why_last_voice(const struct thrum__model *, uint32_t condition);

/* The searches, in order: each skips what earlier ones explain. 0, -THRUM_E_MEMORY, or 1: call it again. */
THRUM__MUST_USE int thrum__why_find_cycles(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_openings(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_torn(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_ended(struct thrum__search *); /* failed unseen, cancelled */
THRUM__MUST_USE int thrum__why_find_starved(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_endless(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_unwoken(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_stuck(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_unserved_pools(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_unclosed(struct thrum__search *);
/* Adds the system calls in which threads hang to the findings about them. Always returns 0. O(tasks) if
 * such calls are known. */
THRUM__MUST_USE int thrum__why_find_inside(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_full_pools(struct thrum__search *);
/* The same of threads that all wait in one place for jobs that only they could do (own_jobs.c). Always
 * returns 0. O(lanes). */
THRUM__MUST_USE int thrum__why_find_own_jobs(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_contended(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_leaks(struct thrum__search *);

/* ---- Turns that were cut short (losses/short_turns.c) ----------------------------------------- */

/* Finds the first turn of a thread since a time that doesn't come to a place where nearly all such turns take
 * a lock. Then sets all of the step but `other`. O(edges of the threads). */
bool thrum__why_find_short_turn(const struct thrum__model *, uint32_t lock, int64_t since,
	struct thrum__step *);

/* ---- Losses, in the order in which they must run (ways.c and so on in losses/) ---------------- */

/* Adds steps for how a task that waits for nothing differs from those like it, where nothing else explains
 * it: a failure that ended none of them as each success did, a task that is missing, or a timer that comes no
 * more. O(tasks) for each such finding. */
void thrum__why_add_ways(struct thrum__search *);

/* Adds steps for runs that left out a signal for which somebody waits, where nothing else explains that.
 * O(events) if it asks the search first. */
void thrum__why_add_left_out(struct thrum__odd_search *, struct thrum__findings *);

/* Adds a finding for slots of a loop that were lost one after the other until it did nothing any more, if
 * there is no other finding, and somebody waits for that loop. O(events) if it asks the search first. */
void thrum__why_add_drained(struct thrum__odd_search *, struct thrum__findings *);

/* Tells what a loop lost, if the whole program rests, and a thread waits for an object that only the loop's
 * callbacks signalled: adds a finding if there is none, or steps to those that tell only of the wait. Takes
 * O(events) if it asks the search first. */
void thrum__why_add_slots(struct thrum__odd_search *, struct thrum__findings *);

/* Adds a finding for a task that one run left pending, though each run like it ended one, if there is no
 * other finding and nothing but timers goes on. O(events) if it asks the search first. */
void thrum__why_add_unended(struct thrum__odd_search *, struct thrum__findings *);

/* Tells which handle ran once for several wake-ups, and did no more for them than for one, if the whole
 * program rests: adds a finding if there is none, or explains a circle of waits through that handle's loop.
 * O(tasks + runs + edges) for each such handle. */
void thrum__why_add_one_each(const struct thrum__model *, struct thrum__findings *);

/* Adds a finding for a thread that is woken again and again, and needs the one of those that should wake it
 * which doesn't, if there is no other finding. O(tasks + edges of the threads). */
void thrum__why_add_in_vain(const struct thrum__search *);

/* Adds a finding for a turn of a loop that left an answer out, as the messages between the loop and the
 * threads that ask it tell, if there is no other finding. O(edges) for each loop. */
void thrum__why_add_unsent(struct thrum__search *);

/* The task that a lane runs, or else its own. */
static inline uint32_t thrum__why_task_of_lane(const struct thrum__lane *lane)
{
	return lane->running == THRUM__NONE ? lane->task : lane->running;
}

/* The last of those that this task became; NONE: that is forgotten. */
static inline uint32_t thrum__why_thread_of(const struct thrum__model *model,
	const struct thrum__lane *lane)
{
	return thrum__why_heir_of(model, thrum__why_task_of_lane(lane));
}

/* ---- Tasks (tasks.c) ------------------------------------------------------------------------ */

/* Whether a task is a request, a timer or a handle: something outside the program ends it. */
bool thrum__why_is_outside(const struct thrum__model *, uint32_t task);

/* Whether a task is a handle of a loop, or a timer. */
bool thrum__why_is_handle(const struct thrum__model *, uint32_t task);

/* Whether a task, which may be forgotten, is a condition. */
bool thrum__why_is_condition(const struct thrum__model *, uint32_t task);

/* Whether a task ends without the program: it is one of those, or it is due at a time. */
bool thrum__why_ends_by_itself(const struct thrum__model *, uint32_t task);

/* Whether a thread's own task really waits: it has done nothing since. True for other tasks. */
bool thrum__why_is_blocked(const struct thrum__model *, uint32_t task,
	const struct thrum__analyse_wait *);

/* The edge before one by the same task, but for those by which it took and released locks; or NONE. A thread
 * that waits for a condition again may have told of the lock that goes with it. */
uint32_t thrum__why_act_before(const struct thrum__model *, uint32_t edge);

/* The task that an ended task read last, if that one was cancelled: then the ended task ended because of it.
 * Else the ended task itself. */
uint32_t thrum__why_first_cancelled(const struct thrum__model *, uint32_t task);

/* Whether an adapter left threads that only nap out, as it looked who could end a wait: the name of the
 * process says so. Such a thread may help at last, so a finding is but possible. */
bool thrum__why_is_beside_naps(const struct thrum__model *, uint32_t task);

/* Whether a task's name begins with one of these words. */
bool thrum__why_begins_with(const struct thrum__model *, uint32_t task, const char *const *words,
	size_t count);
#define THRUM__BEGINS_WITH(model, task, ...) \
	thrum__why_begins_with(model, task, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Whether a request may be pending for ever, as it waits for what others may or may not send. Tells
 * by its name: accept, read and so on. No thread is one, whatever its name. */
bool thrum__why_is_inbound(const struct thrum__model *, uint32_t task);

#endif
