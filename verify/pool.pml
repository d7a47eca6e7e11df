/* SPDX-License-Identifier: ISC */
/*
 * A model of threads that share packets and lanes, and of another process that reads packets
 * meanwhile, for the model checker spin. tools/verify.sh runs it.
 *
 * It describes src/record/pool.c (the ring of packets, the stack of parked lanes), the parts of
 * src/record/lane.c that give lanes and packets to threads, and try_to_read() in
 * src/format/packet.c. Names are those of the code. One statement, or one d_step, is one access to
 * shared memory; anything else may happen between any two of them.
 *
 * Scope
 * - A signal handler that records has a lane of its own: for the pool it is one more thread.
 * - SIGKILL needs no statement: the checker tries every order, also those in which only the reader
 *   goes on after some time. The reader then finds the memory of a killed process.
 * - DEATHS threads end anywhere without leaving their lanes, which are then reclaimed. A thread's
 *   number is not given to a new one as long as a thread is inside reclaim_lane().
 * - Weakly ordered memory is modelled where stores may overtake one another: see begin_packet. The
 *   ring and the stack use sequentially consistent operations only.
 * - The reader reads any one word of any packet. Each word is checked in some run, and reading one
 *   doesn't disturb another, so this is as good as copying all of them in any order.
 *
 * Claims
 * - No two lanes have the same packet, and no two threads the same lane. Packets come out of the
 *   ring in the order in which they went in. A lane that is taken over is whole.
 * - The content that the reader accepts belongs to one packet, and is complete.
 * - When all threads have left, each packet is in the ring or belongs to a parked lane, once.
 *
 * MUTATION=n breaks the protocol in one place. The checker has to find each, or it proves nothing:
 *   1  a packet's ticket isn't cleared before its header is written
 *   2  the reader doesn't read the ticket again
 *   3  taking a packet compares a cell's slot, but not its turn
 *   4  the old packet is given back before its last event is written
 *   5  unparking a lane doesn't compare the tag
 *   6  the content size can be seen before the event that it includes
 *   7  the header can be seen before the cleared ticket (no fence)
 *   8  ticket 0 is given to a packet
 *   9  a lane is reclaimed while it is between two packets
 *  10  reclaiming reads `switching` before it knows that the thread is dead
 *  11  two threads may reclaim the same lane (no compare-and-swap)
 *  12  a new lane has its thread's id before it has its packet, and isn't marked as switching
 *  13  a leaving thread parks its lane, then writes to it
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef PACKETS
#define PACKETS 3	/* at most 7 */
#endif
#ifndef EVENTS
#define EVENTS 2	/* of a full packet */
#endif
#ifndef STEPS
#define STEPS 4		/* of each thread: events, joining, leaving */
#endif
#ifndef PARKED
#define PARKED 0	/* lanes that are parked at the beginning */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef DISCARD
#define DISCARD 0	/* 1: a full recording discards events instead of overwriting */
#endif
#ifndef READERS
#define READERS 1	/* 0: the recorder alone, which a reader doesn't disturb */
#endif
#ifndef TICKETS
#define TICKETS 64	/* 2^32 in the code; more than are used while the reader copies */
#endif
#ifndef FIRST
#define FIRST 0		/* the last ticket given before: if it is near TICKETS, they wrap */
#endif
#ifndef MUTATION
#define MUTATION 0
#endif

#define NONE 255	/* no lane, no packet, no word */

/* ---- Memory -------------------------------------------------------------------------------- */

/* Memory that the reader sees. Words that carry information hold the ticket of the packet for which
 * they were written, so that a mixture of two packets shows. */
byte ticket[PACKETS];
byte content[PACKETS];			/* the content size, in events */
byte header[PACKETS];			/* all words of the header but the two above */
byte event[PACKETS * EVENTS];

/* The recorder's own memory. A cell is one word: turn, full, slot. */
#define EMPTY(turn) ((turn) * 16)
#define FULL(turn, slot) ((turn) * 16 + 8 + (slot))
#define IS_FULL(cell, turn) ((cell) / 8 == (turn) * 2 + 1)
#define SLOT(cell) ((cell) % 8)
byte cells[PACKETS];
byte head, tail, tickets;
byte lanes_used;
byte parked;				/* one word: tag * 8 + lane's number + 1 */

typedef lane_state {
	byte slot;			/* NONE: it has no packet */
	byte position_slot;		/* `position` in the code: its packet, */
	byte position;			/* and the number of events before it */
	byte tid;			/* 0: parked, or just being parked or unparked */
	byte next_parked;
	bit switching
};
lane_state lanes[PACKETS];

/* Not in the code: knowledge of the checker. */
#define IN_RING 0
#define IN_HAND 100
byte holder[PACKETS];			/* IN_RING, IN_HAND, or the number of the lane + 1 */
byte user[PACKETS];			/* each lane's thread; 0: none */
byte retired;				/* packets that no lane will write to again */
byte taken;				/* the number of packets taken out of the ring */
byte left;				/* threads that have left for good */
bit dead[THREADS + 1];

/* ---- pool.c -------------------------------------------------------------------------------- */

inline compare_and_swap(place, seen, value, done)
{
	d_step {
		if
		:: place == seen -> place = value; done = true
		:: else -> seen = place; done = false
		fi
	}
}

inline move_on(end)
{
	d_step {
		if
		:: end == at -> end++
		:: else
		fi
	}
}

inline pool_put(slot)
{
	do
	:: at = tail;
	   seen = cells[at % PACKETS];
	   if
	   :: seen == EMPTY(at / PACKETS) ->
		compare_and_swap(cells[at % PACKETS], seen, FULL(at / PACKETS, slot), mine)
	   :: else
	   fi;
	   /* The cell is filled, by us or by another thread, so the tail moves on. */
	   if
	   :: mine || seen != EMPTY(at / PACKETS) -> move_on(tail)
	   :: else
	   fi;
	   if
	   :: mine -> break
	   :: else
	   fi
	od;
	atomic { at = 0; seen = 0; mine = false }
}

#if MUTATION == 3
#define SAME_CELL(cell, seen) ((cell) % 16 == (seen) % 16)
#else
#define SAME_CELL(cell, seen) ((cell) == (seen))
#endif

/* Empties a full cell by compare-and-swap. */
inline empty_cell()
{
	d_step {
		if
		:: SAME_CELL(cells[at % PACKETS], seen) ->
			cells[at % PACKETS] = EMPTY(at / PACKETS + 1);
			mine = true;
			assert(at == taken);		/* first in, first out */
			taken++;
			assert(holder[SLOT(seen)] == IN_RING);
			holder[SLOT(seen)] = IN_HAND
		:: else -> mine = false
		fi
	}
}

inline pool_take(slot)
{
	slot = NONE;
	do
	:: at = head;
	   seen = cells[at % PACKETS];
	   if
	   :: seen == EMPTY(at / PACKETS) ->
		if
		:: head == at -> break			/* the ring is empty */
		:: else
		fi
	   :: IS_FULL(seen, at / PACKETS) ->
		empty_cell();
		if
		:: mine -> slot = SLOT(seen); move_on(head); break
		:: else
		fi
	   /* Another thread emptied the cell but hasn't moved the head yet: help it. */
	   :: else -> move_on(head)
	   fi
	od;
	atomic { at = 0; seen = 0; mine = false }
}

#define LANE(top) ((top) % 8 - 1)
#define NEXT_TAG(top) (((top) / 8 + 1) * 8)

inline park(lane)
{
	seen = parked;
	do
	:: lanes[lane].next_parked = seen % 8;
	   compare_and_swap(parked, seen, NEXT_TAG(seen) + lane + 1, mine);
	   if
	   :: mine -> break
	   :: else
	   fi
	od;
	atomic { seen = 0; mine = false }
}

#if MUTATION == 5
#define SAME_TOP(top, seen) ((top) % 8 == (seen) % 8)
#else
#define SAME_TOP(top, seen) ((top) == (seen))
#endif

inline unpark(lane)
{
	seen = parked;
	do
	:: seen % 8 == 0 -> break
	:: seen % 8 != 0 ->
		at = lanes[LANE(seen)].next_parked;
		d_step {
			if
			:: SAME_TOP(parked, seen) ->
				lane = LANE(seen);
				parked = NEXT_TAG(parked) + at;
				assert(user[lane] == 0);
				user[lane] = me
			:: else -> seen = parked
			fi
		};
		if
		:: lane != NONE -> break
		:: else
		fi
	od;
	atomic { at = 0; seen = 0 }
}

/* ---- lane.c: packets ----------------------------------------------------------------------- */

/* The code takes the ticket a little later; here the header and the events hold it. */
inline take_ticket()
{
	tickets = (tickets + 1) % TICKETS;
	if
	:: tickets == 0 && MUTATION != 8 -> tickets++
	:: else
	fi;
	mark = tickets
}

/*
 * The stores in the order in which they may be seen. The fence keeps ticket 0 before all others. The
 * release store of the new ticket orders the stores before it, but not those behind it: bytes of the
 * first event may be seen earlier.
 */
inline begin_packet(lane, slot)
{
	d_step {
		take_ticket();
#if MUTATION == 7
		header[slot] = mark
	};
	d_step {
#endif
#if MUTATION != 1
		ticket[slot] = 0
#endif
	};
	if
	:: content[slot] = 0; d_step { header[slot] = mark; event[slot * EVENTS] = mark }
	:: content[slot] = 0; header[slot] = mark
	:: d_step { header[slot] = mark; event[slot * EVENTS] = mark }; content[slot] = 0
	:: header[slot] = mark; content[slot] = 0
	fi;
	d_step {
		ticket[slot] = mark;
		mark = 0;
		holder[slot] = lane + 1;
		lanes[lane].slot = slot
	};
	/* The lane's own members, with others in the code, are stored in no certain order. */
	d_step {
		lanes[lane].position_slot = slot;
		lanes[lane].position = 0
	}
}

/* Set members that only reclaim_lane() reads. */
inline set_switching(lane, value)
{
#if DEATHS
	lanes[lane].switching = value
#else
	skip
#endif
}

inline set_tid(lane, value)
{
#if DEATHS
	lanes[lane].tid = value
#else
	skip
#endif
}

/* The lane gives up its old packet: to the ring, or, in a full recording, for ever. */
inline let_go(lane)
{
	d_step {
		if
		:: slot == NONE && !DISCARD -> slot = old	/* overwrite our own */
		:: else
		fi;
		lanes[lane].slot = NONE;
		if
		:: old == slot -> old = NONE
		:: old != NONE && old != slot ->
			if
			:: DISCARD -> retired++; holder[old] = IN_HAND; old = NONE
			:: else -> holder[old] = IN_RING
			fi
		:: else
		fi
	}
}

inline change_packet(lane)
{
	set_switching(lane, 1);
#if MUTATION == 4
	/* One event is still to be written. */
	if
	:: lanes[lane].slot != NONE ->
		d_step { old = lanes[lane].slot; mark = ticket[old]; holder[old] = IN_RING };
		pool_put(old);
		event[old * EVENTS + EVENTS - 1] = mark;
		content[old] = EVENTS
	:: else
	fi;
	pool_take(slot);
	lanes[lane].slot = NONE;
#else
	old = lanes[lane].slot;
	pool_take(slot);
	let_go(lane);
	if
	:: old != NONE -> pool_put(old)
	:: else
	fi;
#endif
	if
	:: slot != NONE -> begin_packet(lane, slot)
	:: else
	fi;
	set_switching(lane, 0);
	atomic { old = 0; slot = 0 }
}

inline check_event(lane)
{
	slot = lanes[lane].slot;
	at = lanes[lane].position;
	assert(lanes[lane].position_slot == slot);
	assert(user[lane] == me && holder[slot] == lane + 1);
	assert(ticket[slot] != 0)
}

/* Stores the bytes, the position, the content size. */
inline write_event(lane)
{
#if MUTATION == 6
	content[lanes[lane].slot] = lanes[lane].position + 1;
#endif
	d_step {
		check_event(lane);
		event[slot * EVENTS + at] = ticket[slot];
		lanes[lane].position = at + 1
	};
	d_step {
		assert(user[lane] == me && holder[slot] == lane + 1);
		content[slot] = at + 1;
		at = 0;
		slot = 0
	}
}

#if MUTATION == 4
#define ROOM (EVENTS - 1)
#else
#define ROOM EVENTS
#endif

/* thrum__record_lane_take and thrum__record_lane_write */
inline record(lane)
{
	if
	:: lanes[lane].slot == NONE || lanes[lane].position == ROOM -> change_packet(lane)
	:: else
	fi;
	if
	:: lanes[lane].slot != NONE -> write_event(lane)
	:: else						/* lost, and counted */
	fi
}

/* ---- lane.c: threads ------------------------------------------------------------------------ */

/* reclaim_lane(): takes the first lane of a dead thread. (The code asks the kernel only now and
 * then.) */
inline reclaim(lane)
{
	do
	:: at < lanes_used && at < PACKETS ->
		seen = lanes[at].tid;
#if MUTATION == 10
		mark = lanes[at].switching;
#endif
		if
		:: seen != 0 && dead[seen] ->
#if MUTATION != 9 && MUTATION != 10
			mark = lanes[at].switching;
#endif
			if
			:: mark == 0 ->
#if MUTATION == 11
				d_step { lanes[at].tid = me; mine = true }
#else
				compare_and_swap(lanes[at].tid, seen, me, mine)
#endif
			:: else
			fi
		:: else
		fi;
		if
		:: mine -> take_over(lane); break
		:: else -> at++; mark = 0
		fi
	:: else -> break
	od;
	atomic { at = 0; seen = 0; mark = 0; mine = false }
}

inline take_over(lane)
{
	d_step {
		lane = at;
		assert(dead[user[lane]]);
		user[lane] = me;
		/* The lane is whole. */
		assert(!lanes[lane].switching);
		assert(lanes[lane].slot == NONE || lanes[lane].slot == lanes[lane].position_slot);
		assert(lanes[lane].slot == NONE || holder[lanes[lane].slot] == lane + 1)
	}
}

inline new_lane(lane, slot)
{
	d_step { at = lanes_used; lanes_used++ };
	if
	:: at >= PACKETS -> holder[slot] = IN_RING; pool_put(slot)
	:: else ->
		d_step {
			lane = at;
			at = 0;
			user[lane] = me;
			lanes[lane].slot = NONE;
			lanes[lane].switching = (MUTATION != 12 && DEATHS > 0)
		};
		set_tid(lane, me);
		begin_packet(lane, slot);
		set_switching(lane, 0)
	fi
}

/* find_lane() and attach_lane() */
inline attach(lane)
{
	unpark(lane);
	if
	:: lane == NONE ->
		pool_take(slot);
		if
		:: slot != NONE -> new_lane(lane, slot)
		:: else ->
#if DEATHS
			reclaim(lane)
#else
			skip				/* lost, and counted */
#endif
		fi;
		slot = 0
	:: else
	fi;
	if
	:: lane != NONE ->
		set_tid(lane, me);
		/* Its header names the thread before, so the lane may need another packet. */
		if
		:: lanes[lane].slot != NONE && lanes[lane].position > 0 -> change_packet(lane)
		:: true
		fi
	:: else
	fi
}

inline leave(lane)
{
#if MUTATION != 13
	d_step { user[lane] = 0; lanes[lane].tid = 0 };
	park(lane);
#else
	lanes[lane].tid = 0;
	park(lane);
	if
	:: lanes[lane].slot != NONE && lanes[lane].position < EVENTS -> write_event(lane)
	:: else
	fi;
	user[lane] = 0;
#endif
	lane = NONE
}

proctype thread(byte me)
{
	byte lane = NONE, steps, slot, old, at, seen, mark;
	bit mine;

	{
		do
		:: steps < STEPS && lane == NONE -> steps++; attach(lane)
		:: steps < STEPS && lane != NONE -> steps++; record(lane)
		/* The thread ends; the steps that follow are another thread's. */
		:: steps < STEPS && lane != NONE -> steps++; leave(lane)
		:: steps == STEPS -> break
		od;
		if
		:: lane != NONE -> leave(lane)
		:: else
		fi;
		left++
	}
#if DEATHS
	unless { dead[me] }
#endif
}

#if DEATHS
proctype death()
{
	byte victim = 1, deaths;

	do
	:: deaths < DEATHS ->
		atomic {
			do
			:: victim < THREADS -> victim++
			:: break
			od;
			dead[victim] = 1;
			victim = 1;
			deaths++
		}
	:: break
	od
}
#endif

/* ---- The reader: try_to_read() in packet.c --------------------------------------------------- */

proctype reader()
{
	byte slot, before, size, word;

	atomic {
		do
		:: slot < PACKETS - 1 -> slot++
		:: break
		od;
		before = ticket[slot]
	};
	if
	:: before == 0
	:: else ->
		size = content[slot];
		if
		:: word = header[slot]
		:: size > 0 -> word = event[slot * EVENTS]
		:: size > 1 -> word = event[slot * EVENTS + size - 1]
		fi;
		assert(word == before || (ticket[slot] != before && MUTATION != 2))
	fi
}

/* ---- The beginning and the end ------------------------------------------------------------- */

inline prepare()
{
	tickets = FIRST;
	at = 0;
	do
	:: at < PARKED ->
		/* The lane has just got its packet. */
		tickets = (tickets + 1) % TICKETS;
		lanes[at].slot = at;
		lanes[at].position_slot = at;
		lanes[at].next_parked = at;		/* the one before, or 0 */
		parked = at + 1;
		ticket[at] = tickets;
		header[at] = tickets;
		holder[at] = at + 1;
		lanes_used++;
		cells[at] = EMPTY(1);
		head++;
		taken++;
		at++
	:: at >= PARKED && at < PACKETS ->
		cells[at] = FULL(0, at);
		lanes[at].position_slot = NONE;
		at++
	:: at == PACKETS -> break
	od;
	tail = PACKETS
}

/* Checks that each packet is in one place, once. */
inline count_packets()
{
	do
	:: head != tail ->
		at = SLOT(cells[head % PACKETS]);
		assert(IS_FULL(cells[head % PACKETS], head / PACKETS));
		assert(holder[at] == IN_RING);
		holder[at] = IN_HAND;
		count++;
		head++
	:: parked % 8 != 0 ->
		at = LANE(parked);
		assert(user[at] == 0);
		user[at] = NONE;
		if
		:: lanes[at].slot != NONE ->
			assert(holder[lanes[at].slot] == at + 1);
			count++
		:: else
		fi;
		parked = lanes[at].next_parked
	:: head == tail && parked % 8 == 0 -> break
	od;
	assert(count + retired == PACKETS)
}

init
{
	byte at, count;

	d_step { prepare() };
	atomic {
		at = 1;
		do
		:: at <= THREADS -> run thread(at); at++
		:: else -> break
		od;
#if READERS
		run reader();
#endif
#if DEATHS
		run death()
#endif
	};
end:
	left == THREADS;		/* nobody died */
	d_step { count = 0; count_packets() }
}
