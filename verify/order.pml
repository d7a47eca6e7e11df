/* SPDX-License-Identifier: ISC */
/*
 * A model of packets and live tasks on a processor that reorders, as ARM and RISC-V do, for the model
 * checker spin. tools/verify.sh runs it. The other two models have all of the protocol and hardly any
 * reordering; this one has the parts where order counts, and each barrier of the code is a barrier here.
 *
 * Scope
 * - Each lane has a buffer of stores that nobody else sees yet. They reach the memory in any order, but
 *   those to one place in the order of the program. A release store waits for all before it. Stores
 *   behind a release fence wait for all before the fence.
 * - Loads of the reader may happen in any order, also before it is known whether they are needed. Those
 *   behind an acquire fence happen after all before it. Loads of one place stay in order.
 * - A store that reaches the memory is seen by all (multi-copy atomicity, which ARMv8 and RISC-V have).
 *   ARMv7 doesn't promise that, but its barriers also order the stores that a lane has seen of others.
 * - Lanes load in the order of the program: what they load decides whether they store, and no processor
 *   shows a store before it knows that it happens.
 *
 * With LIVE=0, the packet: begin_packet() and change_packet() in src/record/lane.c, publish() in
 * src/record/record.h, thrum__record_pool_put() and thrum__record_pool_take() in src/record/pool.c, and
 * try_to_read() in src/format/packet.c. One lane fills a packet and gives it away, another one takes it.
 * The readings of the clocks (src/record/clock.c) and the history of the mask (src/format/control.c) have
 * tickets of the same kind.
 *
 * With LIVE=1, the cell of a live task: live_fill(), live_store() and live_end() in src/record/record.h,
 * thrum__record_live_begin() in src/record/live.c, and thrum__format_live_read() in src/format/live.c with
 * thrum__format_settle_live_task() in src/format/live.c. A task waits and ends, and the same lane or
 * another one creates the next task in its cell.
 *
 * Claims: those of pool.pml and live.pml on all that the reader accepts.
 *
 * The barriers of the code, each with its function and its text there; tests/check/models.py
 * holds that these functions have no others:
 *
 *   TICKET_FENCE  src/record/lane.c      begin_packet             atomic_thread_fence(memory_order_release)
 *   NEW_TICKET    src/record/lane.c      begin_packet             ticket, memory_order_release
 *   CONTENT_SIZE  src/record/record.h    publish                  memory_order_release
 *   POOL_PUT      src/record/pool.c      thrum__record_pool_put   atomic_compare_exchange_strong(cell,
 *   READ_TICKET   src/format/packet.c    read_pair                atomic_thread_fence(memory_order_acquire)
 *   READ_SIZE     src/format/packet.c    read_pair                atomic_thread_fence(memory_order_acquire)
 *   READ_BYTES    src/format/packet.c    try_to_read              atomic_thread_fence(memory_order_acquire)
 *   LIVE_BEGIN    src/record/live.c      thrum__record_live_begin atomic_thread_fence(memory_order_release)
 *   LIVE_BEGIN    src/record/hot.c       finish_create            atomic_thread_fence(memory_order_acq_rel)
 *   LIVE_FILL     src/record/record.h    live_fill                __ATOMIC_RELEASE
 *   LIVE_FILL     src/record/record.h    live_fill                memory_order_release
 *   LIVE_WAIT     src/record/record.h    live_store               memory_order_release
 *   LIVE_END      src/record/record.h    live_end                 memory_order_release
 *   READ_BEFORE   src/format/live.c      thrum__format_live_read  atomic_thread_fence(memory_order_acquire)
 *   READ_CELLS    src/format/live.c      thrum__format_live_read  atomic_thread_fence(memory_order_acquire)
 *   READ_CELLS    src/format/copy.c      read_all                 atomic_thread_fence(memory_order_acquire)
 *
 * MUTATION=n takes the barrier of that number away. The checker has to find each, or it proves nothing.
 */

#ifndef LIVE
#define LIVE 0
#endif
#ifndef EVENTS
#define EVENTS 2	/* of a packet: 1 or 2 */
#endif
#ifndef WAITS
#define WAITS 2		/* of the first task: 1 or 2 */
#endif
#ifndef MUTATION
#define MUTATION 0
#endif

#define TICKET_FENCE	(MUTATION != 1)
#define NEW_TICKET	(MUTATION != 2)
#define CONTENT_SIZE	(MUTATION != 3)
#define POOL_PUT	(MUTATION != 4)
#define READ_TICKET	(MUTATION != 5)
#define READ_SIZE	(MUTATION != 6)
#define READ_BYTES	(MUTATION != 7)
#define LIVE_BEGIN	(MUTATION != 8)
#define LIVE_FILL	(MUTATION != 9)
#define LIVE_WAIT	(MUTATION != 10)
#define LIVE_END	(MUTATION != 11)
#define READ_BEFORE	(MUTATION != 12)
#define READ_CELLS	(MUTATION != 13)

/* ---- Memory -------------------------------------------------------------------------------- */

#define PLACES 6
byte memory[PLACES];

#define LANES 2
#define ROOM 8
typedef buffer {
	byte count;
	byte epoch;		/* the number of fences so far */
	byte place[ROOM];	/* the pending stores, the oldest first */
	byte value[ROOM];
	byte since[ROOM];	/* the epoch in which it was made */
	bit release[ROOM]
};
buffer buffers[LANES];
#define B buffers[me]

inline store_with(at, what, releases)
{
	atomic {
		B.count < ROOM ->
		B.place[B.count] = at;
		B.value[B.count] = what;
		B.since[B.count] = B.epoch;
		B.release[B.count] = releases;
		B.count++
	}
}
#define store(at, what) store_with(at, what, false)
#define store_release(at, what, really) store_with(at, what, really)

inline release_fence(really)
{
	d_step {
		if
		:: really && B.count > 0 -> B.epoch++
		:: else
		fi
	}
}

/* Whether the pending store number i may reach the memory: nothing is before it that has to be. */
inline look_whether_it_may(i)
{
	j = 0;
	may = true;
	do
	:: j < i ->
		if
		:: B.place[j] == B.place[i] || B.release[i] || B.since[j] < B.since[i] -> may = false
		:: else
		fi;
		j++
	:: else -> break
	od;
	j = 0
}

/* The lane's stores reach the memory, in any order that the barriers allow, at any time. */
proctype drain(byte me)
{
	byte i, j;
	bit may;

end:
	do
	:: atomic {
		B.count > 0 ->
		i = 0;
		do
		:: i + 1 < B.count -> i++
		:: break
		od;
		look_whether_it_may(i);
		if
		:: may ->
			d_step {
				memory[B.place[i]] = B.value[i];
				do
				:: i + 1 < B.count ->
					B.place[i] = B.place[i + 1];
					B.value[i] = B.value[i + 1];
					B.since[i] = B.since[i + 1];
					B.release[i] = B.release[i + 1];
					i++
				:: else -> break
				od;
				B.count--;
				B.place[B.count] = 0;
				B.value[B.count] = 0;
				B.since[B.count] = 0;
				B.release[B.count] = 0;
				if
				:: B.count == 0 -> B.epoch = 0
				:: else
				fi;
				i = 0
			}
		:: else -> i = 0
		fi;
		may = 0
	   }
	od
}

#define DONE(which) (done >> (which) & 1)
#define NOW(which, at, result) result = memory[at]; done = done | 1 << (which)

#if !LIVE
/* ---- The packet ---------------------------------------------------------------------------- */

/* The header and the events hold the ticket of the packet for which they were written. */
#define TICKET 0
#define SIZE 1		/* the content size, in events */
#define HEADER 2
#define EVENT 3		/* and the next place */
#define CELL 5		/* of the pool: 1 if it has the packet */

inline begin_packet(ticket)
{
	store(TICKET, 0);
	release_fence(TICKET_FENCE);
	store(SIZE, 0);
	store(HEADER, ticket);
	store_release(TICKET, ticket, NEW_TICKET)
}

inline write_events(ticket)
{
	store(EVENT, ticket);
#if EVENTS > 1
	store_release(SIZE, 1, CONTENT_SIZE);
	store(EVENT + 1, ticket);
#endif
	store_release(SIZE, EVENTS, CONTENT_SIZE)
}

proctype first_lane()
{
	byte me = 0;

	begin_packet(1);
	write_events(1);
	store_release(CELL, 1, POOL_PUT)
}

proctype second_lane()
{
	byte me = 1;

	memory[CELL] == 1;		/* pool_take */
	begin_packet(2);
	write_events(2)
}

#define HAS_TICKET (DONE(0) || !READ_TICKET)
#define HAS_SIZE (HAS_TICKET && (DONE(1) || !READ_SIZE))
#define HAS_BYTES (HAS_SIZE && (DONE(2) && DONE(3) && DONE(4) || !READ_BYTES))

proctype reader()
{
	byte before, size, header, first, second, after, done;

	do
	:: d_step { !DONE(0) -> NOW(0, TICKET, before) }
	:: d_step { !DONE(1) && HAS_TICKET -> NOW(1, SIZE, size) }
	:: d_step { !DONE(2) && HAS_SIZE -> NOW(2, HEADER, header) }
	:: d_step { !DONE(3) && HAS_SIZE -> NOW(3, EVENT, first) }
	:: d_step { !DONE(4) && HAS_SIZE -> NOW(4, EVENT + 1, second) }
	:: d_step { !DONE(5) && HAS_BYTES && DONE(0) -> NOW(5, TICKET, after) }
	:: done == 63 -> break
	od;
	if
	:: before != 0 && before == after ->
		assert(header == before);
		assert(size < 1 || first == before);
		assert(size < 2 || second == before)
	:: else
	fi
}

#else
/* ---- The cell of a live task ---------------------------------------------------------------- */

#define TAG 0
#define CONTENT 1	/* all words that are written only at creation: the task's id */
#define WAITING 2	/* the source and the time of the last wait: task and number of the wait */
#define WAITED 3
#define WAIT(id, number) ((id) * 8 + (number))

inline live_wait(id, number)
{
	store(WAITING, WAIT(id, number));
	store_release(WAITED, WAIT(id, number), LIVE_WAIT)
}

inline live_begin(id)
{
	release_fence(LIVE_BEGIN);
	store(CONTENT, id);
	store(WAITING, WAIT(id, 0));
	store(WAITED, WAIT(id, 0));
	store_release(TAG, id, LIVE_FILL)
}

bit is_begun;	/* a lane creates the second task: the region of the cell is its own */

proctype first_lane()
{
	byte me = 0;

	live_wait(1, 1);
#if WAITS > 1
	live_wait(1, 2);
#endif
	store_release(TAG, 0, LIVE_END);
	if
	:: atomic { !is_begun -> is_begun = true }; live_begin(2); live_wait(2, 1)
	:: true
	fi
}

proctype second_lane()
{
	byte me = 1;

end:
	atomic { memory[TAG] == 0 && !is_begun -> is_begun = true };	/* next_id */
	live_begin(2)
}

/* Three copies of a cell, of which the reader looks at the tags and either the content or the waits. */
typedef cell {
	byte tag, content, waiting, waited
};

#define LOOKS_AT(word) ((word) == TAG || ((word) == CONTENT) == looks_at_content)
#define SEEN(number, word) (!LOOKS_AT(word) || DONE((number) * 4 + (word)))
#define COPIED(number) \
	(SEEN(number, TAG) && SEEN(number, CONTENT) && SEEN(number, WAITING) && SEEN(number, WAITED))
/* Whether the loads of a copy may happen: the one before is whole, or there is no fence behind it. */
#define MAY_0 true
#define MAY_1 (COPIED(0) || !READ_BEFORE)
#define MAY_2 ((COPIED(1) || !READ_CELLS) && (COPIED(0) || !READ_BEFORE))
/* The word isn't loaded yet, but that of the copy before is: loads of one place stay in order. */
#define NEXT(number, word) (LOOKS_AT(word) && !DONE((number) * 4 + (word)) && \
	((number) == 0 || DONE((number) * 4 - 4 + (word))))
#define LOAD(number, word, member) \
	d_step { NEXT(number, word) && MAY_##number -> \
		NOW((number) * 4 + (word), word, copies[number].member) }

proctype reader()
{
	cell copies[3];
	short done;
	bit looks_at_content;

	if
	:: looks_at_content = 1
	:: true
	fi;
	do
	:: LOAD(0, TAG, tag)
	:: LOAD(0, CONTENT, content)
	:: LOAD(0, WAITING, waiting)
	:: LOAD(0, WAITED, waited)
	:: LOAD(1, TAG, tag)
	:: LOAD(1, CONTENT, content)
	:: LOAD(1, WAITING, waiting)
	:: LOAD(1, WAITED, waited)
	:: LOAD(2, TAG, tag)
	:: LOAD(2, CONTENT, content)
	:: LOAD(2, WAITING, waiting)
	:: LOAD(2, WAITED, waited)
	:: COPIED(0) && COPIED(1) && COPIED(2) -> break
	od;
	if
	:: copies[0].tag == 0 || copies[0].tag != copies[1].tag || copies[1].tag != copies[2].tag
	:: else ->
		if
		:: looks_at_content -> assert(copies[1].content == copies[1].tag)
		:: !looks_at_content && copies[0].waiting == copies[1].waiting &&
			copies[1].waiting == copies[2].waiting &&
			copies[0].waited == copies[1].waited && copies[1].waited == copies[2].waited ->
			assert(copies[1].waiting / 8 == copies[1].tag);
			assert(copies[1].waited / 8 == copies[1].tag);
			assert(copies[1].waited <= copies[1].waiting)
		:: else
		fi
	fi
}
#endif

init
{
	atomic {
#if LIVE
		/* The first task is in the cell. */
		memory[TAG] = 1;
		memory[CONTENT] = 1;
		memory[WAITING] = WAIT(1, 0);
		memory[WAITED] = WAIT(1, 0);
#endif
		run drain(0);
		run drain(1);
		run first_lane();
		run second_lane();
		run reader()
	}
}
