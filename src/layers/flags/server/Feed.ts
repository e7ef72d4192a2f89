import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { type FlagChangeKind, type FlagSetChange } from "../../../domain/flags/sets/Snapshot.ts"

/** Streams of this process. */
const maxFollowers = 10_000
/** Changes that come closer together than this, in ms, are told as one. */
const burstMillis = 20

/** What streams end with when the service does: clients that are told OK would not come back. */
const shuttingDown = () => new ConnectError("The service is shutting down", Code.Unavailable)

type Changes = ReadonlyMap<string, FlagChangeKind>

/** Whose changes a stream is told: one environment's, everybody's, or nobody's. */
export type Followed = FlagEnvironment | "all" | "none"

/** Tells the streams of the flag ports what changes. */
export class FlagFeed {
  readonly #followers = new Set<FlagFollower>()
  #ending = false

  tell({ environment, flags }: FlagSetChange) {
    for (const follower of this.#followers) {
      if (follower.followed === environment || follower.followed === "all") follower.tell(flags)
    }
  }

  /** Ends all streams with UNAVAILABLE. */
  end() {
    this.#ending = true
    for (const follower of this.#followers) follower.end(shuttingDown())
  }

  /** Until the signal aborts. Throws RESOURCE_EXHAUSTED, or UNAVAILABLE at the end. */
  follow(followed: Followed, signal: AbortSignal): FlagFollower {
    if (this.#ending) throw shuttingDown()
    if (this.#followers.size >= maxFollowers) {
      throw new ConnectError(`There are ${maxFollowers} streams already`, Code.ResourceExhausted)
    }
    const follower = new FlagFollower(followed)
    this.#followers.add(follower)
    const leave = () => {
      this.#followers.delete(follower)
      follower.end(signal.reason)
    }
    // By the signal and not by whoever reads: a stream that nobody reads from is never read to its end.
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave, { once: true })
    return follower
  }
}

/** One stream's share: what changed since it asked last, however slow it is. */
export class FlagFollower {
  readonly followed: Followed
  #changes = new Map<string, FlagChangeKind>()
  #told = false
  #ended: { readonly reason: unknown } | undefined
  #wake: (() => void) | undefined
  #last = Number.NEGATIVE_INFINITY

  constructor(followed: Followed) {
    this.followed = followed
  }

  get ended() {
    return this.#ended !== undefined
  }

  tell(changes: Changes) {
    for (const [key, kind] of changes) this.#changes.set(key, kind)
    this.#told = true
    this.#wake?.()
  }

  end(reason: unknown) {
    this.#ended ??= { reason }
    this.#wake?.()
  }

  /** Throws what the stream ends with, if it has ended. */
  check() {
    if (this.#ended !== undefined) throw this.#ended.reason
  }

  /** Waits for a change, at most so many ms. What it gives may be empty; undefined: nothing happened, or it has ended. */
  async next(millis: number): Promise<Changes | undefined> {
    if (!this.#told) await this.#pause(millis)
    const early = this.#last + burstMillis - performance.now()
    if (this.#told && early > 0) await this.#pause(early, () => this.ended)
    if (this.ended || !this.#told) return undefined
    const changes = this.#changes
    this.#changes = new Map()
    this.#told = false
    this.#last = performance.now()
    return changes
  }

  /** Until it is woken and `enough` says so. */
  async #pause(millis: number, enough = () => true) {
    if (this.ended) return
    await new Promise<void>((resume) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resume()
      }
      const timer = setTimeout(done, millis)
      this.#wake = () => {
        if (enough()) done()
      }
    })
  }
}
