/*
 * One key, its callers and a conditional store: claim, takeover, lost answer, crash, completion.
 * `node test/model/run.ts` checks it with Spin over every interleaving; the properties and what is expected of each stand in properties.ts.
 *
 * Which part of the model stands for what in src/core
 *   begin, with what follows     claim.ts Claimer.claim(): decide.ts begin(), then #tryClaim or #tryBlock, #send, #inDoubt, #releaseIfOurs
 *   giveBack, anew()             claim.ts #giveBack, givenBack, #renameOwner
 *   wait                         claim.ts #waitForChange
 *   start(), working             owned.ts Owned.run, #work
 *   renewing                     attempt.ts #renewOnce, #move; decide.ts move()
 *   complete                     attempt.ts #finish, #move; decide.ts move(); owned.ts #complete, #overtaken
 *   look                         attempt.ts #finish, #look; owned.ts #notSaved
 *   giveUp                       attempt.ts giveUp; owned.ts #threw
 *   Person                       person.ts forgetRun and resolveRun, also with force
 *   firstPast, heldPast, past    system.ts ownRemainingMs(sentAt of that send) <= 0; heldPast is lifetime.ts Lifetime.lost
 *   LAPSED(r, l)                 record.ts isLapsed; `unknown` is a running record with leaseMs 0
 *   apply()                      what any RecordStore does for create (over 0) and replace
 *   forget()                     of the model alone: it keeps the search small
 *
 * A store call is three steps: it leaves (send), it applies, once or twice and however late (World), it answers (await). With a fault the caller hears
 * nothing: the request was lost, or its answer, or it is under way and applies when it likes. A crash is a caller that takes no further step: for safety
 * every prefix of every run is looked at, so a crash needs no statement of its own; where the end of calls is asked for (-DFINALE), it has one.
 *
 * Time passes in leaps (World): what was sent before is then past the deadline that its sender counts from there (`past`). A record lapses for others
 * only after its owner stopped (owner: lease minus margin from before sending; others: lease plus uncertainty from writing). -DCLOCKS_WRONG lets it
 * lapse at any moment.
 *
 * Left out: fingerprints, expiry, retention, steps, parts, commits with business rows, onUnknown as a function, maxAttempts, remembered errors (to
 * the store they are values), values refused for their size, cancellation, the sweeper. Tokens grow by one instead of with the clock. A look at the
 * clock and what is done on the strength of it are one step: a pause between them looks, to everybody, like one right after.
 *
 * A green run says: within these numbers of callers, faults and renewals the protocol, as written here, keeps the asserted promises in every
 * interleaving. It does not say that the code does what is written here (test/simulation runs the code), nor that a store is really conditional
 * (test/conformance asks the stores).
 */
#ifndef CALLS
#define CALLS 2 /* at the same time */
#endif
#ifndef FAULTS
#define FAULTS 2 /* calls without an answer, doubled or refused, all callers together */
#endif
#ifndef PAUSES
#define PAUSES 2 /* past a lease */
#endif
#ifndef RENEWALS
#define RENEWALS 1 /* all callers together */
#endif
#ifndef THROWS
#define THROWS 1
#endif
#ifndef LOOKS
#define LOOKS 0 /* of a caller that waits for another one */
#endif
#ifndef CRASHES
#define CRASHES 0 /* that somebody waits for; see above */
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* claims of a caller that are overtaken or given back */
#endif
#ifdef FINALE
#define ALL (CALLS + 1) /* and one that comes when the others have ended or died and faults have stopped */
#else
#define ALL CALLS
#endif
#define MOST 12 /* versions that anybody still knows */

mtype = { running, unknown, released, completed, blocked };
mtype = { nothing, written, conflict, noAnswer, refused };

/* A version is the place of what was written; a place is used again only when nobody knows that version any more. */
typedef Write {
  mtype state;
  byte over;  /* the version it is conditional on; 0: only when absent */
  byte owner;
  byte token;
  byte value; /* of the work that was begun; a value is named by the owner that it is of */
  bit after;  /* claimed over a record whose outcome is unknown */
  bit past    /* sent so long ago that its sender counts it as run out */
};
Write w[MOST];
bit net[MOST]; /* under way */

byte stands; /* in the store; 0: nothing */
bit lapsed;

/* What each caller knows. */
byte waits[ALL];   /* the write whose answer it waits for */
mtype answer[ALL];
byte told[ALL];    /* with a conflict: what stood there */
bit toldLapsed[ALL];
byte seen[ALL];    /* what it last saw standing */
byte version[ALL]; /* of its own record */
bit firstPast[ALL]; /* its first send without an answer is past its deadline */
bit heldPast[ALL];  /* its lease is */

byte faults = FAULTS;
byte pauses = PAUSES;
byte renewals = RENEWALS;
byte throws = THROWS;
byte crashes = CRASHES;
byte ended;
bit calm; /* faults have stopped */

/* Witnesses, which no caller can see. */
byte accepted;   /* the value of the outcome that the store accepted */
bit outcomeSeen;
byte highest;    /* token */
byte mayStart = 1; /* first runs, leases that ran out and failures declared, less the runs that began */
bit named;       /* one of the named exceptions has happened: a person's force, a row that vanished */

#define me (_pid - 1)
#define NOBODY 200
#define NONCE(k) ((k) * ALL + me + 1)
#define MINE(o) ((o) != NOBODY && ((o) - 1) % ALL == me)
#define LAPSED(r, l) (w[r].state == unknown || (w[r].state == running && (l)))
#define HOLDS(r) (w[r].state == running && w[r].owner == owner)
#if ALL == 2
#define ANY(array, r) (array[0] == (r) || array[1] == (r))
#elif ALL == 3
#define ANY(array, r) (array[0] == (r) || array[1] == (r) || array[2] == (r))
#else
#define ANY(array, r) (array[0] == (r) || array[1] == (r) || array[2] == (r) || array[3] == (r))
#endif

#ifdef CLOCKS_WRONG
#define CLOCKS_RIGHT false
#else
#define CLOCKS_RIGHT true
#endif

/* What is planted, and must be found. */
#ifdef COMPLETE_UNCONDITIONALLY
#define HOLDS_CONDITION(r) (w[r].over == stands || w[r].state == completed)
#elif defined(RELEASE_UNCONDITIONALLY)
#define HOLDS_CONDITION(r) (w[r].over == stands || w[r].state == released)
#else
#define HOLDS_CONDITION(r) (w[r].over == stands)
#endif
#ifdef TOKEN_NOT_RAISED
#define NEXT_TOKEN(r) ((r) == 0 -> highest + 1 : w[r].token)
#else
#define NEXT_TOKEN(r) ((r) == 0 -> highest + 1 : w[r].token + 1)
#endif
#ifdef OWN_NOT_RECOGNISED
#define OURS(r) false
#else
#define OURS(r) (w[r].state == running && MINE(w[r].owner))
#endif
#ifdef TAKEOVER_AT_ONCE
#define ALIVE(r, l) false
#else
#define ALIVE(r, l) (w[r].state == running && !(l))
#endif
#ifdef LATE_ANSWER_STARTS
#define IN_TIME true
#else
#define IN_TIME !heldPast[me]
#endif
#ifdef COUNTS_FROM_LAST_SEND
#define PAST_OF_OURS 0
#else
#define PAST_OF_OURS w[seen[me]].past
#endif
#ifdef OWN_VALUE_AFTER_ALL
#define ADOPTED owner
#else
#define ADOPTED w[current].value
#endif
#ifdef POLLS_FOR_EVER
#define LOOKED skip
#else
#define LOOKED looks++
#endif
#ifdef RETRY_RUNS_AGAIN
#define TRY_AGAIN start(); goto working
#else
#define TRY_AGAIN goto complete
#endif

/* Versions that nobody knows any more, and requests that change nothing any more: a version never comes back. */
inline forget() {
  d_step {
    for (i : 1 .. MOST - 1) {
      if
      :: net[i] && !ANY(waits, i) && !HOLDS_CONDITION(i) -> net[i] = 0
      :: else
      fi
    }
    for (i : 1 .. MOST - 1) {
      if
      :: w[i].state != 0 && stands != i && !net[i] && !ANY(waits, i) && !ANY(told, i) && !ANY(seen, i) && !ANY(version, i) ->
        for (j : 1 .. MOST - 1) {
          if
          :: net[j] && w[j].over == i -> break
          :: else
          fi
        }
        if
        :: j == MOST -> w[i].state = 0; w[i].over = 0; w[i].owner = 0; w[i].token = 0; w[i].value = 0; w[i].after = 0; w[i].past = 0
        :: else
        fi;
        j = 0
      :: else
      fi
    }
    i = 0
  }
}

/* The store takes a request, or refuses it for what stands there. */
inline apply() {
  d_step {
    net[r] = 0;
    if
    :: HOLDS_CONDITION(r) ->
      if
      :: w[r].owner == w[stands].owner ->
        /* I5: an owner's own moves keep the token. An attempt never writes over its own final state. */
        assert(w[r].token == w[stands].token && w[stands].state == running)
      :: else ->
        /* I4: only a claim, a block or a person changes the owner; a completion makes the row anew where it is gone. I5: and raises the token. */
        assert(stands == 0 || w[r].state == running || w[r].state == blocked);
        assert(w[r].token > highest);
        /* I6: what is taken over has run out, for its owner too. */
        assert(w[stands].state != running || lapsed);
        assert(!CLOCKS_RIGHT || w[stands].state != running || w[stands].past)
      fi;
      if
      :: w[r].state == completed ->
        assert(accepted == 0); /* I1 */
        accepted = w[r].value
      :: (w[r].state == released || w[r].state == unknown) && w[r].value > 0 -> mayStart++ /* work was begun, and declared to have failed */
      :: else
      fi;
      highest = (w[r].token > highest -> w[r].token : highest);
      stands = r;
      lapsed = 0;
      reply = written
    :: else -> reply = conflict
    fi;
    for (i : 0 .. ALL - 1) {
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
    reply = 0
  }
}

#define UNDER_WAY(k) :: net[k] -> r = k
#define IDLE(a, b, c, d) !net[a] && !net[b] && !net[c] && !net[d]
#define NONE_UNDER_WAY (IDLE(1, 2, 3, 4) && IDLE(5, 6, 7, 8) && IDLE(9, 10, 11, 11))
#define ANY_UNDER_WAY \
  UNDER_WAY(1) UNDER_WAY(2) UNDER_WAY(3) UNDER_WAY(4) UNDER_WAY(5) UNDER_WAY(6) UNDER_WAY(7) UNDER_WAY(8) UNDER_WAY(9) UNDER_WAY(10) UNDER_WAY(11)

/* What was sent before is past its deadline; or only what stands, and whatever was sent before that: what may still follow it was sent later. */
inline leap() {
  if
  :: d_step { for (i : 1 .. MOST - 1) { w[i].past = (w[i].state != 0) } i = 0 }
  :: w[stands].state == running && !w[stands].past -> w[stands].past = 1
  fi;
  d_step { for (i : 0 .. ALL - 1) { firstPast[i] = 1; heldPast[i] = 1 } i = 0 }
}

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
      :: stands == r && faults > 0 -> faults--; net[r] = 1 /* once more, at once or late: the retry of an SDK meets its own write */
      fi;
      r = 0;
      forget()
    }
  :: atomic { pauses > 0 && !calm -> pauses--; leap() }
  :: atomic { w[stands].state == running && !lapsed && (!CLOCKS_RIGHT || w[stands].past) -> lapsed = 1; mayStart++ }
#ifdef FINALE
  :: atomic { ended == CALLS && !calm && w[stands].state == running && !w[stands].past -> leap() }
#endif
#ifdef VANISH
  /* purge --lapsed: only after an hour, when no request of that time is under way any more. */
  :: atomic { !named && w[stands].state == running && lapsed && NONE_UNDER_WAY -> stands = 0; lapsed = 0; named = 1; forget() }
#endif
  od
}

/* A request leaves. */
inline send(what, overWhat, whose, ofWhat) {
  d_step {
    my = 1;
    do
    :: w[my].state != 0 -> my++
    :: else -> break
    od;
    assert(my < MOST); /* or the model is too small */
    w[my].state = what; w[my].over = overWhat; w[my].owner = whose; w[my].token = token; w[my].value = ofWhat;
    w[my].after = after; w[my].past = 0;
    net[my] = 1;
    waits[me] = my;
    answer[me] = nothing;
    my = 0; token = 0
  }
}

/* Its answer comes; or it never does, whatever becomes of the request. `my`: what was sent. */
inline await() {
  if
  :: answer[me] == written || answer[me] == conflict -> got = answer[me]; current = told[me]; currentLapsed = toldLapsed[me]
#ifdef WAITS_FOR_EVER
  :: faults > 0 && net[waits[me]] -> faults--; net[waits[me]] = 0; false
#endif
  :: faults > 0 ->
    faults--;
    got = noAnswer;
    if
    :: net[waits[me]] -> net[waits[me]] = 0
    :: true
    fi
  :: faults > 0 && net[waits[me]] && answer[me] == nothing -> faults--; net[waits[me]] = 0; got = refused
  :: crashes > 0 -> crashes--; goto died
  fi;
  my = waits[me];
  waits[me] = 0; answer[me] = 0; told[me] = 0; toldLapsed[me] = 0
}

/* A read: answered at once, or not at all. */
inline read() {
  if
  :: current = stands; currentLapsed = lapsed; got = written
  :: faults > 0 -> faults--; got = noAnswer
  :: crashes > 0 -> crashes--; goto died
  fi
}

/* I1, I2: whoever gets an outcome gets the one that the store accepted. */
inline answerWith(outcome) {
  assert(outcome == accepted && accepted > 0);
  outcomeSeen = 1
}

/* The look at the own clock and the start of the work are one step: a pause between them is a pause at the beginning of the work. */
inline start() {
  d_step {
    owner = w[version[me]].owner;
    seen[me] = 0; seenLapsed = 0; doubt = 0; firstPast[me] = 0; after = 0;
    assert(!late || named); /* I3: no later call starts the work */
    assert(mayStart > 0); /* I6 */
    assert(!CLOCKS_RIGHT || named || !outcomeSeen); /* I3: nor does one that was under way */
    assert(!CLOCKS_RIGHT || named || w[stands].owner == owner); /* I6: no start after a takeover */
    mayStart--
  }
}

/* A claim that came to nothing: whoever was overtaken never comes back under the same name. */
inline anew() {
  d_step {
    seen[me] = current; seenLapsed = currentLapsed;
    version[me] = 0; heldPast[me] = 0; doubt = 0; firstPast[me] = 0; after = 0;
    k++;
    owner = NONCE(k)
  }
}

active [ALL] proctype Caller() {
  byte my, token, current, owner, k, looks, i, j;
  bit currentLapsed, seenLapsed, doubt, late, lost, looked, after;
  mtype got;

  atomic {
#ifdef FINALE
    if
    :: me < CALLS
    :: me == CALLS && ended == CALLS && NONE_UNDER_WAY && (w[stands].state != running || lapsed) -> calm = 1; faults = 0; throws = 0; renewals = 0
    fi;
#endif
    late = outcomeSeen;
    owner = NONCE(0);
begin:
    got = 0; my = 0; current = 0; currentLapsed = 0;
    if
    :: OURS(seen[me]) ->
      version[me] = seen[me]; heldPast[me] = PAST_OF_OURS; after = w[version[me]].after;
      if
      :: IN_TIME -> start(); goto working
      :: else -> goto giveBack
      fi
    :: else
    fi;
    if
    :: w[seen[me]].state == completed -> answerWith(w[seen[me]].value); goto over
    :: w[seen[me]].state == blocked -> goto over
    :: ALIVE(seen[me], seenLapsed) ->
      if
      :: looks < LOOKS -> LOOKED; goto wait
      :: else
      fi;
      assert(!MINE(w[seen[me]].owner)); /* I7: in flight is never said of an own request */
#ifdef FINALE
      assert(me < CALLS); /* I10: nothing is in the way of the last one */
#endif
      goto over
    :: else ->
      if
      :: k == ROUNDS -> goto over
      :: else
      fi;
      token = NEXT_TOKEN(seen[me]);
      after = (w[seen[me]].state == running || w[seen[me]].state == unknown);
#ifdef ON_UNKNOWN_BLOCK
      if
      :: LAPSED(seen[me], seenLapsed) -> send(blocked, seen[me], NOBODY, 0)
      :: else -> send(running, seen[me], owner, 0)
      fi
#else
      send(running, seen[me], owner, 0)
#endif
    fi
  }
  atomic {
    await();
    if
    :: got == written && w[my].state == blocked -> goto over
    :: got == written && w[my].state == running ->
      version[me] = my; heldPast[me] = w[my].past;
      if
      :: IN_TIME -> start(); goto working
      :: else -> goto giveBack
      fi
    :: got == conflict -> anew(); goto begin
    :: got == refused && !doubt -> goto over /* STORE_UNAVAILABLE */
    :: got == noAnswer || (got == refused && doubt)
    fi;
#ifdef STARTS_IN_DOUBT
    version[me] = my; start(); goto working;
#endif
    /* No answer, to this one or to one before it. */
    if
    :: !doubt -> doubt = 1; firstPast[me] = w[my].past
    :: else
    fi;
    if
    :: !firstPast[me] -> goto begin
    :: true /* the lease is over, or its patience */
    fi
  }
  atomic {
    read();
    if
    :: got == written && w[current].state == running && MINE(w[current].owner) ->
      token = w[current].token;
      send((w[current].after -> unknown : released), current, w[current].owner, 0)
    :: else -> goto over /* WRITE_UNKNOWN */
    fi
  }
  atomic { await(); goto over }

  atomic {
    skip;
giveBack:
    token = w[version[me]].token;
    send((after -> unknown : released), version[me], w[version[me]].owner, 0)
  }
  atomic {
    await();
    if
    :: got == conflict -> anew(); goto begin
    :: got == written
    :: got == noAnswer || got == refused -> goto giveBack
    :: got == noAnswer || got == refused -> goto over /* WRITE_UNKNOWN */
    fi
  }
  atomic {
    read();
    if
    :: got == written -> anew(); goto begin
    :: else -> goto giveBack
    fi
  }

wait:
  atomic {
    read();
    if
    :: got == written -> seen[me] = current; seenLapsed = currentLapsed
    :: else
    fi;
    goto begin
  }

  atomic {
    skip;
working:
    my = 0; current = 0; currentLapsed = 0; got = 0;
    if
    :: crashes > 0 -> crashes--; goto died
    :: throws > 0 -> throws--; goto giveUp
    :: goto complete
    :: renewals > 0 && !heldPast[me] && !lost -> renewals--; token = w[version[me]].token; send(running, version[me], owner, 0)
    fi
  }
renewing:
  atomic {
    await();
    if
    :: got == written || (got == conflict && current == my) ->
      version[me] = my;
      if
      :: !heldPast[me] -> heldPast[me] = w[my].past
      :: else
      fi
    :: got == conflict && current != my ->
      if
      :: HOLDS(current) && !heldPast[me] ->
        version[me] = current; token = w[current].token; send(running, version[me], owner, 0); goto renewing
      :: else -> lost = 1
      fi
    :: got == noAnswer || got == refused
    fi;
    goto working
  }

  atomic {
    skip;
complete:
    token = (version[me] == 0 -> highest + 1 : w[version[me]].token); send(completed, version[me], owner, owner)
  }
  atomic {
    await();
    if
    :: got == written -> answerWith(owner); goto over
    :: got == conflict && current == 0 -> version[me] = 0; goto complete /* record-vanished */
    :: got == conflict && HOLDS(current) -> version[me] = current; goto complete
#ifndef OWN_OUTCOME_NOT_RECOGNISED
    :: got == conflict && w[current].state == completed && w[current].owner == owner -> answerWith(owner); goto over
#endif
    :: got == conflict && w[current].state == completed && w[current].owner != owner -> answerWith(ADOPTED); goto over /* adopt */
    :: (got == noAnswer || got == refused) && !heldPast[me] && !lost -> TRY_AGAIN
    :: got == noAnswer || got == refused -> goto look
    :: else -> goto overtaken
    fi
  }
look:
  atomic {
    read();
    if
    :: got == written && w[current].state == completed && w[current].owner == owner -> answerWith(owner); goto over
    :: got == written && w[current].state == completed && w[current].owner != owner -> answerWith(w[current].value); goto over
    :: got == written && (current == 0 || HOLDS(current)) && !looked -> looked = 1; version[me] = current; goto complete /* once more, over that */
    :: got == noAnswer || (looked && (current == 0 || HOLDS(current))) -> goto over /* saved: false, the named exception to I2 and I3 */
    :: else
    fi
  }
  atomic {
    skip;
overtaken:
    assert(accepted != owner); /* I7: an own write is known */
    goto over /* LEASE_LOST */
  }

  atomic {
    skip;
giveUp:
    if
    :: lost || heldPast[me] -> goto over /* nothing is declared: the record lapses */
    :: else
    fi;
    token = w[version[me]].token;
    if
    :: send(released, version[me], owner, owner)
    :: send(unknown, version[me], owner, owner)
    fi
  }
  atomic {
    await();
    if
    :: got == conflict && HOLDS(current) -> version[me] = current; goto giveUp
    :: got == noAnswer || got == refused -> goto giveUp
    :: true
    fi
  }

  atomic {
    skip;
over:
#ifdef FINALE
    assert(me < CALLS || outcomeSeen || w[stands].state == blocked); /* I10: it ends with an outcome, or with a word for a person */
#endif
died:
    ended++;
    waits[me] = 0; answer[me] = 0; told[me] = 0; toldLapsed[me] = 0; seen[me] = 0; version[me] = 0; firstPast[me] = 0; heldPast[me] = 0;
    my = 0; token = 0; current = 0; owner = 0; k = 0; looks = 0;
    currentLapsed = 0; seenLapsed = 0; doubt = 0; late = 0; lost = 0; looked = 0; after = 0; got = 0;
    forget()
  }
}

#ifdef PERSON
/* Reads, says a word, and it is written on condition of what was read. With force also over a run that goes on. */
active proctype Person() {
  byte i, j, before, token;
end:
  atomic { w[stands].state == running || w[stands].state == unknown || w[stands].state == released || w[stands].state == blocked }
  atomic {
    if
    :: w[stands].state != 0 && w[stands].state != completed ->
      if
      :: w[stands].state == running && !lapsed -> named = 1; mayStart++ /* force */
      :: else
      fi;
      before = stands; token = w[stands].token + 1;
      stands = 1;
      do
      :: w[stands].state != 0 -> stands++
      :: else -> break
      od;
      w[stands].owner = NOBODY; w[stands].token = token;
      if
      :: w[stands].state = released
      :: w[before].state != released -> w[stands].state = completed; w[stands].value = NOBODY; assert(accepted == 0); accepted = NOBODY
      fi;
      highest = token; lapsed = 0; before = 0; token = 0;
      forget()
    :: else
    fi
  }
}
#endif
