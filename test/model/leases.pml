/*
 * A named lease kept as one row of a conditional store, its holders, and a store they write to with their fence.
 * `node test/model/run.ts` checks it with Spin over every interleaving; the properties and what is expected of each stand in properties.ts.
 *
 * Which part of the model stands for what in src/core
 *   asking:       acquisition.ts #ask over store-leases.ts acquire, decideAcquire: the same owner asks again while there is no answer
 *   giveBack:     acquisition.ts #giveBack, and LiveLease.release: store-leases.ts release, #own
 *   holding:      a LiveLease; INSIDE is what the work does after assertHeld() has said yes
 *   renewing      LiveLease.#renewOnce, store-leases.ts renew
 *   past          lifetime.ts Lifetime.lost: two clocks, from before the first request was sent; final
 *   lapsed        record.ts isLapsed, as decideAcquire asks it
 *   fencedWrite   fence.ts mustHold, in one transaction with the write (-DFENCE=ROW), or a store elsewhere that keeps the highest token it has seen
 *                 (-DFENCE=HIGHEST), or one that looks at nothing (-DFENCE=NOTHING)
 *
 * A call is three steps: it leaves, it applies (once or twice, however late), it answers or never does. A crash is a holder that takes no further step.
 * Time passes in leaps of more than a lease. The row lapses for others only when its owner's own deadline is past; -DCLOCKS_WRONG: at any moment.
 *
 * Left out: slots, minimum hold, labels, break, providers of their own kind (Blob, file). Tokens grow by one instead of with the clock.
 *
 * A green run says: two holders can both be at work (a pause after the look at the clock is enough: no lease can prevent it), a store that is fenced by
 * the row never takes what a holder sends after another one has taken the lease, one that keeps the highest token never goes back behind it, and one
 * that checks nothing does take such writes. It does not say that the code does what is written here, nor that a store is really conditional.
 */
#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef ASKS
#define ASKS 3 /* all holders together: released, and taken again under a new name */
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef PAUSES
#define PAUSES 2
#endif
#ifndef RENEWALS
#define RENEWALS 1
#endif
#ifndef WRITES
#define WRITES 2 /* to the fenced store, all holders together */
#endif
#define NOTHING 0
#define ROW 1
#define HIGHEST 2
#ifndef FENCE
#define FENCE ROW
#endif
#define MOST 10 /* versions that anybody still knows */

mtype = { held, free };
mtype = { none, written, conflict, noAnswer, refused };

/* A version is the place of what was written; a place is used again only when nobody knows that version any more. */
typedef Write { mtype state; byte over; byte owner; byte token; bit past };
Write w[MOST];
bit net[MOST];
byte stands;
bit lapsed;

byte waits[HOLDERS];
mtype answer[HOLDERS];
byte told[HOLDERS];
bit toldLapsed[HOLDERS];
byte version[HOLDERS]; /* of its own row, or of the one it asks over */
bit past[HOLDERS];   /* its own deadline is */
bit has[HOLDERS];    /* was told that it has the lease, and has not begun to release it */
bit inside[HOLDERS]; /* has looked at its clock, and is at work on the strength of that */

/* A fenced write under way, of each holder. */
byte fenceOwner[HOLDERS];
byte fenceToken[HOLDERS];
byte highestSeen; /* by the fenced store */

byte faults = FAULTS;
byte pauses = PAUSES;
byte renewals = RENEWALS;
byte writes = WRITES;
byte asks = ASKS;
byte highest; /* token */

#define me (_pid - 1)
#define NONCE(k) ((k) * HOLDERS + me + 1)
#define BY_CLOCK(h) (has[h] && !past[h])

/* What is never to happen, or is to be shown to happen: then the assertion must break. */
#ifdef NOT_TWO_AT_WORK
#define NEVER_AT_WORK assert(!(inside[0] && inside[1]))
#else
#define NEVER_AT_WORK skip
#endif
#ifdef NOT_TWO_BY_THEIR_CLOCKS
#define NEVER_BY_THE_CLOCKS assert(!(BY_CLOCK(0) && BY_CLOCK(1)))
#else
#define NEVER_BY_THE_CLOCKS skip
#endif
#ifdef NOT_STALE
#define NEVER_STALE(h) assert(w[stands].owner == fenceOwner[h])
#else
#define NEVER_STALE(h) skip
#endif
#ifdef NOT_BACK
#define NEVER_BACK(h) assert(fenceToken[h] >= highestSeen)
#else
#define NEVER_BACK(h) skip
#endif

#ifdef CLOCKS_WRONG
#define CLOCKS_RIGHT false
#else
#define CLOCKS_RIGHT true
#endif

/* What is planted, and must be found. */
#ifdef RELEASE_UNCONDITIONALLY
#define HOLDS_CONDITION(r) (w[r].over == stands || w[r].state == free)
#else
#define HOLDS_CONDITION(r) (w[r].over == stands)
#endif
#ifdef TOKEN_NOT_RAISED
#define NEXT_TOKEN(r) ((r) == 0 -> 1 : w[r].token)
#else
#define NEXT_TOKEN(r) (w[r].token + 1)
#endif
#ifdef TAKEOVER_AT_ONCE
#define TAKEN(r, l) false
#else
#define TAKEN(r, l) (w[r].state == held && !(l))
#endif
#ifdef RELEASES_WHAT_STANDS
#define OWNS(r) true
#else
#define OWNS(r) (w[r].owner == owner)
#endif
#ifdef OWN_NOT_RECOGNISED
#define OURS(r) false
#else
#define OURS(r) (w[r].owner == owner)
#endif
#ifdef LATE_ANSWER_HOLDS
#define IN_TIME true
#else
#define IN_TIME !past[me]
#endif

#define KNOWN(array, i) (array[0] == (i) || array[1] == (i) || array[HOLDERS - 1] == (i))

/* Versions that nobody knows any more, and requests that change nothing any more: a version never comes back. */
inline forget() {
  d_step {
    for (i : 1 .. MOST - 1) {
      if
      :: net[i] && !KNOWN(waits, i) && !HOLDS_CONDITION(i) -> net[i] = 0
      :: else
      fi
    }
    for (i : 1 .. MOST - 1) {
      if
      :: w[i].state != 0 && stands != i && !net[i] && !KNOWN(waits, i) && !KNOWN(told, i) && !KNOWN(version, i) ->
        for (j : 1 .. MOST - 1) {
          if
          :: net[j] && w[j].over == i -> break
          :: else
          fi
        }
        if
        :: j == MOST -> w[i].state = 0; w[i].over = 0; w[i].owner = 0; w[i].token = 0; w[i].past = 0
        :: else
        fi;
        j = 0
      :: else
      fi
    }
    i = 0
  }
}

inline apply() {
  d_step {
    net[r] = 0;
    if
    :: HOLDS_CONDITION(r) ->
      if
      :: w[r].owner == w[stands].owner -> assert(w[r].token >= w[stands].token)
      :: else ->
        assert(w[r].state == held); /* I4: nobody releases or renews for somebody else */
        assert(w[r].token > highest); /* I5 */
        assert(w[stands].state != held || lapsed);
        assert(!CLOCKS_RIGHT || w[stands].state != held || w[stands].past) /* I6 */
      fi;
      highest = w[r].token;
      stands = r;
      lapsed = 0;
      reply = written
    :: else -> reply = conflict
    fi;
    for (i : 0 .. HOLDERS - 1) {
      if
      :: waits[i] == r ->
        answer[i] = reply;
        if
        :: reply == conflict -> told[i] = stands; toldLapsed[i] = lapsed
        :: else
        fi
      :: else
      fi
    }
    i = 0; reply = 0
  }
}

/* A request of holder h reaches the fenced store. */
inline fencedWrite(h) {
  d_step {
    fenceToken[h] > 0;
    if
    :: FENCE == NOTHING || (FENCE == ROW && w[stands].owner == fenceOwner[h] && w[stands].token == fenceToken[h]) ||
       (FENCE == HIGHEST && fenceToken[h] >= highestSeen) ->
      NEVER_STALE(h);
      NEVER_BACK(h);
      highestSeen = (fenceToken[h] > highestSeen -> fenceToken[h] : highestSeen)
    :: else
    fi;
    fenceOwner[h] = 0; fenceToken[h] = 0
  }
}

#define UNDER_WAY(k) :: net[k] -> r = k
#define ANY_UNDER_WAY UNDER_WAY(1) UNDER_WAY(2) UNDER_WAY(3) UNDER_WAY(4) UNDER_WAY(5) UNDER_WAY(6) UNDER_WAY(7) UNDER_WAY(8) UNDER_WAY(9)

active proctype World() {
  byte r, i, j;
  mtype reply;
end:
  do
  :: atomic {
      if
      ANY_UNDER_WAY
      fi;
      apply();
      if
      :: true
      :: stands == r && faults > 0 -> faults--; net[r] = 1
      fi;
      r = 0;
      forget()
    }
  :: fencedWrite(0)
  :: fencedWrite(1)
  :: fencedWrite(HOLDERS - 1)
  :: d_step {
      pauses > 0 -> pauses--;
      for (i : 1 .. MOST - 1) { w[i].past = (w[i].state != 0) }
      for (i : 0 .. HOLDERS - 1) { past[i] = 1 }
      i = 0
    }
  :: d_step { w[stands].state == held && !lapsed && (!CLOCKS_RIGHT || w[stands].past) -> lapsed = 1 }
  od
}

inline send(what, overWhat) {
  forget();
  d_step {
    my = 1;
    do
    :: w[my].state != 0 -> my++
    :: else -> break
    od;
    assert(my < MOST); /* or the model is too small */
    w[my].state = what; w[my].over = overWhat; w[my].owner = owner; w[my].token = token; w[my].past = 0;
    net[my] = 1;
    waits[me] = my;
    answer[me] = 0;
    token = 0; my = 0
  }
}

inline await() {
  if
  :: answer[me] == written || answer[me] == conflict -> got = answer[me]; current = told[me]; currentLapsed = toldLapsed[me]
  :: faults > 0 ->
    faults--;
    got = noAnswer;
    if
    :: net[waits[me]] -> net[waits[me]] = 0
    :: true
    fi
  fi;
  my = waits[me];
  waits[me] = 0; answer[me] = 0; told[me] = 0; toldLapsed[me] = 0
}

inline read() {
  if
  :: current = stands; currentLapsed = lapsed; got = written
  :: faults > 0 -> faults--; got = noAnswer
  fi
}

active [HOLDERS] proctype Holder() {
  byte owner, k, token, myToken, current, my, i, j;
  bit currentLapsed, doubt;
  mtype got;

  atomic {
    skip;
next:
    if
    :: asks > 0 -> asks--; owner = NONCE(k); k++
    :: goto over
    fi;
    past[me] = 0; doubt = 0; version[me] = 0;
asking:
    read();
    if
    :: got == noAnswer && !doubt -> goto next
    :: got == noAnswer && doubt -> goto inDoubt
    :: else
    fi;
decide:
    my = 0; got = 0;
    if
    :: w[current].state == held && !currentLapsed && OURS(current) -> version[me] = current; myToken = w[current].token; goto acquired
    :: else
    fi;
    if
    :: TAKEN(current, currentLapsed) -> assert(w[current].owner != owner); goto next /* held, by somebody else: I7 */
    :: else
    fi;
    version[me] = current;
    token = NEXT_TOKEN(current);
    send(held, version[me]);
    current = 0; currentLapsed = 0
  }
  atomic {
    await();
    if
    :: got == conflict -> goto decide
    :: got == written -> version[me] = my; myToken = w[my].token; goto acquired
    :: got == noAnswer -> doubt = 1
    fi;
inDoubt:
    if
    :: !past[me] -> goto asking
    :: goto lookAndGiveBack
    fi
  }
  atomic {
    skip;
acquired:
    doubt = 0;
    if
    :: IN_TIME -> has[me] = 1;
      assert(!CLOCKS_RIGHT || w[stands].owner == owner); /* I6: the lease is handed out while it is ours */
      NEVER_BY_THE_CLOCKS;
      goto holding
    :: else -> my = 0; current = 0; currentLapsed = 0; got = 0; goto giveBack
    fi
  }

  atomic {
    skip;
holding:
    my = 0; current = 0; currentLapsed = 0; got = 0;
    if
    :: goto giveBack
    :: !past[me] -> inside[me] = 1; NEVER_AT_WORK /* assertHeld() */
    :: renewals > 0 && !past[me] -> renewals--; token = myToken; send(held, version[me]); goto renewing
    fi
  }
  /* Here it may be paused for as long as you like. */
  atomic {
    if
    :: writes > 0 && fenceToken[me] == 0 -> writes--; fenceOwner[me] = owner; fenceToken[me] = myToken
    :: true
    fi;
    inside[me] = 0;
    goto holding
  }
renewing:
  atomic {
    await();
    if
    :: got == written || (got == conflict && current == my) -> version[me] = my
    :: got == conflict && current != my && w[current].owner == owner && w[current].state == held -> version[me] = current
    :: got == conflict && current != my && (w[current].owner != owner || w[current].state != held) -> past[me] = 1
    :: got == noAnswer
    fi;
    goto holding
  }

lookAndGiveBack:
  atomic {
    read();
    if
    :: got == noAnswer -> goto lookAndGiveBack
    :: got == noAnswer -> goto next
    :: else
    fi;
    if
    :: OWNS(current) -> version[me] = current; myToken = w[current].token
    :: else -> goto next
    fi;
giveBack:
    has[me] = 0;
    token = myToken;
    send(free, version[me])
  }
  atomic {
    await();
    if
    :: got == conflict && OWNS(current) && w[current].state == held -> version[me] = current; myToken = w[current].token; goto giveBack
    :: got == noAnswer -> goto giveBack
    :: true
    fi;
    version[me] = 0; myToken = 0; current = 0; currentLapsed = 0; my = 0; got = 0;
    goto next
  }
  atomic {
    skip;
over:
    owner = 0; k = 0; past[me] = 0; doubt = 0; current = 0; currentLapsed = 0; version[me] = 0; myToken = 0; my = 0; got = 0
  }
}
