import { Effect } from "effect"
import { samplesOfConnections } from "../../../domain/metrics/Sample.ts"
import { lsnText } from "../../../domain/sql/Lsn.ts"
import { CurrentMeters } from "../../../services/metrics/Meters.ts"
import { type Freshness } from "../../../services/ports/Db.ts"
import { type Login, type ServerAddress } from "../Login.ts"
import { MainSessions } from "../MainSessions.ts"
import { type ProvenOutcome, isProven } from "../rows/Epoch.ts"
import { type Outcome } from "../rows/Outcome.ts"
import { Fence, type Fenced } from "./Fence.ts"
import { Standby, type Unusable } from "./Standby.ts"

/** Clients whose last write is remembered. */
const maxClients = 10_000

/** How far into the log a standby must be for each client to read what it wrote, by the writes of this process. */
class Written {
  private readonly positions = new Map<string, number>()
  /** The highest position of clients that were dropped. */
  private floor = 0

  /** `Infinity`: the position is not determined yet, see `resolve`. */
  record(client: string, position: number): void {
    this.positions.delete(client)
    this.positions.set(client, position)
    if (this.positions.size <= maxClients) return
    const [[oldest, last] = ["", 0]] = this.positions
    this.positions.delete(oldest)
    if (last > this.floor) this.floor = last
  }

  of(client: string): number {
    return this.positions.get(client) ?? this.floor
  }

  /** Gives a position after all writes so far to clients without one. */
  resolve(position: number): void {
    if (this.floor === Number.POSITIVE_INFINITY) this.floor = position
    for (const [client, known] of this.positions) {
      if (known === Number.POSITIVE_INFINITY) this.positions.set(client, position)
    }
  }
}

/** Interval at which the standbys are asked for their positions, in ms; reads report them as well. */
const roundMillis = 500

/** SQLSTATEs of a standby's own: replay cancelled the statement, the server ends, lacks something, or is broken. */
const ofStandby = /^(08|25|40|53|55|57P|58|XX)/

export interface StandbysOptions {
  /** The service's own login. */
  readonly login: Login
  /** The login of anon and authenticated callers. */
  readonly callers: Login
  /** Whether PostgreSQL reports changes of definitions; otherwise no read is clean. */
  readonly watched: boolean
  /** The addresses of the standbys. */
  readonly places: ReadonlyArray<ServerAddress>
  /** Roles that callers act as. */
  readonly roles: ReadonlyArray<string>
  /** A standby that is further behind gets no reads; in ms. */
  readonly maxLag: number
  /** See `Fence`. */
  readonly pace: number
}

/**
 * The standbys of the main database, for clean reads. A read on a standby counts only if
 *
 * 1. the standby had replayed the log completely up to a position at which the epoch of the plan and today's rights held,
 *    before the read was sent: it saw no older definitions and rights;
 * 2. the epoch read behind it is that of the plan: it saw no newer definitions;
 * 3. the primary, asked after the request has come, has still that epoch and those rights: what was revoked before the
 *    request came is not answered, however far behind the standby is.
 *
 * Any other read, and one whose standby fails, runs on the primary.
 */
export class Standbys {
  readonly all: ReadonlyArray<Standby>
  private readonly fence: Fence
  private readonly written = new Written()
  private readonly maxLag: number
  private readonly watched: boolean
  /** Positions of the primary's log by the time at which they were behind everything, oldest first. */
  private samples: Array<{ readonly at: number; readonly lsn: number }> = []
  private turn = 0

  constructor({ callers, login, maxLag, pace, places, roles, watched }: StandbysOptions) {
    this.all = places.map((place) => new Standby(login, callers, place))
    this.fence = new Fence(login, roles, pace)
    this.maxLag = maxLag
    this.watched = watched
  }

  /** A standby that may answer a read of this epoch; undefined: only the primary may. */
  choose(epoch: number, { after, session }: Freshness, client: string): Standby | undefined {
    const { state } = this.fence
    if (state === undefined || state.epoch !== epoch) {
      this.fence.ask(() => undefined)
      return undefined
    }
    const needed = Math.max(state.lsn, after, session ? this.written.of(client) : 0)
    let best: Standby | undefined
    this.turn++
    for (let at = 0; at < this.all.length; at++) {
      const standby = this.all[(at + this.turn) % this.all.length]
      if (standby === undefined || standby.unusable !== undefined) continue
      if (standby.replayed < needed) void standby.refresh()
      else if (best === undefined || standby.inFlight < best.inFlight) best = standby
    }
    return best
  }

  /** Runs a read on a standby chosen for it. */
  read(standby: Standby, run: Effect.Effect<ProvenOutcome, unknown>): Effect.Effect<ProvenOutcome> {
    return Effect.suspend(() => {
      const { state } = this.fence
      let confirmed: Fenced | null | undefined
      let resume: (() => void) | undefined
      this.fence.ask((beat) => {
        confirmed = beat?.state ?? null
        resume?.()
      })
      const confirmation = Effect.callback<void>((done) => {
        if (confirmed === undefined) resume = () => done(Effect.void)
        else done(Effect.void)
      })
      standby.inFlight++
      const judged = (outcome: ProvenOutcome): Effect.Effect<ProvenOutcome> => {
        if (outcome === "unsent") return Effect.succeed(outcome)
        if (!isProven(outcome) || isOfStandby(outcome)) return doubtful
        const holds = () => (state !== undefined && confirmed === state ? outcome : "doubtful")
        return confirmed === undefined ? Effect.map(confirmation, holds) : Effect.succeed(holds())
      }
      return run.pipe(
        Effect.flatMap(judged),
        // There was no connection.
        Effect.catch(() => Effect.succeed<ProvenOutcome>("unsent")),
        Effect.ensuring(Effect.sync(() => standby.inFlight--))
      )
    })
  }

  /** Makes the client's reads see what it has just written. Returns the position of the log; undefined if it is unknown. */
  wrote(client: string): Effect.Effect<string | undefined> {
    return Effect.map(this.fence.asked, (beat) => {
      this.written.record(client, beat?.lsn ?? Number.POSITIVE_INFINITY)
      return beat && lsnText(beat.lsn)
    })
  }

  /** Finds out which standbys can be used, again and again until the scope closes. */
  readonly follow = Effect.gen({ self: this }, function* () {
    yield* (yield* MainSessions).add(this.fence.pausable)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        this.fence.close()
        for (const standby of this.all) standby.close()
      })
    )
    yield* (yield* CurrentMeters).sample(() => [
      ...samplesOfConnections("main", "fence", this.fence.open, 1),
      ...this.all.flatMap(({ connected }) => samplesOfConnections("standby", "progress", connected, 1))
    ])
    const known = new Map<Standby, Unusable | undefined>()
    const round = Effect.gen({ self: this }, function* () {
      const answers = yield* Effect.promise(() => Promise.all(this.all.map((standby) => standby.refresh())))
      // The primary is asked afterwards, so it has written everything that the standbys have replayed by now.
      const replayed = this.all.map((standby) => standby.replayed)
      const beat = yield* this.fence.asked
      if (beat === undefined) return
      this.written.resolve(beat.lsn)
      this.sample(beat.lsn)
      for (const [at, standby] of this.all.entries()) {
        if (answers[at] === true) standby.unusable = this.fault(standby, (replayed[at] ?? 0) > beat.lsn)
        const { name, unusable } = standby
        if (known.has(standby) && known.get(standby) === unusable) continue
        known.set(standby, unusable)
        const why = /^(does not|refuses)/.test(unusable ?? "") && standby.reason ? ` (${standby.reason})` : ""
        if (unusable !== undefined)
          yield* Effect.logWarning(`The standby ${name} ${unusable}${why}: it serves no reads`)
        else if (this.watched) yield* Effect.logInfo(`The standby ${name} serves reads`)
        else yield* Effect.logInfo(`The standby ${name} answers, but gets no reads without event triggers`)
      }
    })
    yield* round
    yield* round.pipe(Effect.delay(roundMillis), Effect.forever, Effect.forkScoped)
  })

  private fault({ replayed }: Standby, isAhead: boolean): Unusable | undefined {
    if (isAhead) return "has another log than the primary"
    const missing = this.samples.find(({ lsn }) => lsn > replayed)
    return missing !== undefined && performance.now() - missing.at > this.maxLag ? "lags" : undefined
  }

  private sample(lsn: number) {
    const now = performance.now()
    this.samples.push({ at: now, lsn })
    // The newest of the samples that are too old still counts.
    while ((this.samples[1]?.at ?? now) < now - this.maxLag - roundMillis) this.samples.shift()
  }
}

const doubtful = Effect.succeed<ProvenOutcome>("doubtful")

const isOfStandby = ({ failure }: Outcome) =>
  failure !== undefined && (failure.error === undefined || ofStandby.test(failure.error.code))
