import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { type FlagChangeKind, type FlagSetChange } from "../../../domain/flags/sets/Snapshot.ts"

/** Maximum number of streams of this process. */
const maxSubscriptions = 10_000
/** Changes within this time are sent as one, in ms. */
const burstMillis = 20

/** Ends streams at shutdown: clients do not reconnect after OK. */
const shuttingDown = () => new ConnectError("The service is shutting down", Code.Unavailable)

type Changes = ReadonlyMap<string, FlagChangeKind>

/** The environments that a stream covers. */
type Environments = FlagEnvironment | "all" | "none"

/** Sends changes to the streams of the flag ports. */
export class FlagFeed {
  readonly #subscriptions = new Set<FlagSubscription>()
  #ending = false

  publish({ environment, flags }: FlagSetChange) {
    for (const subscription of this.#subscriptions) {
      if (subscription.environments === environment || subscription.environments === "all") subscription.notify(flags)
    }
  }

  /** Ends all streams with UNAVAILABLE. */
  end() {
    this.#ending = true
    for (const subscription of this.#subscriptions) subscription.end(shuttingDown())
  }

  /** Lasts until the signal aborts. Throws RESOURCE_EXHAUSTED, or UNAVAILABLE at shutdown. */
  subscribe(environments: Environments, signal: AbortSignal): FlagSubscription {
    if (this.#ending) throw shuttingDown()
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw new ConnectError(`The limit of ${maxSubscriptions} streams is reached`, Code.ResourceExhausted)
    }
    const subscription = new FlagSubscription(environments)
    this.#subscriptions.add(subscription)
    const leave = () => {
      this.#subscriptions.delete(subscription)
      subscription.end(signal.reason)
    }
    // Ends by the signal, because a stream that is not read never reaches its end.
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave, { once: true })
    return subscription
  }
}

/** Collects the changes for one stream until the stream takes them. */
export class FlagSubscription {
  readonly environments: Environments
  #changes = new Map<string, FlagChangeKind>()
  #notified = false
  #ended: { readonly reason: unknown } | undefined
  #wake: (() => void) | undefined
  #last = Number.NEGATIVE_INFINITY

  constructor(environments: Environments) {
    this.environments = environments
  }

  get ended() {
    return this.#ended !== undefined
  }

  notify(changes: Changes) {
    for (const [key, kind] of changes) this.#changes.set(key, kind)
    this.#notified = true
    this.#wake?.()
  }

  end(reason: unknown) {
    this.#ended ??= { reason }
    this.#wake?.()
  }

  /** Throws the reason if the stream has ended. */
  check() {
    if (this.#ended !== undefined) throw this.#ended.reason
  }

  /** Waits for changes, which may be of no flag. Undefined after `millis` without one, or when the stream has ended. */
  async next(millis: number): Promise<Changes | undefined> {
    if (!this.#notified) await this.#pause(millis)
    const early = this.#last + burstMillis - performance.now()
    if (this.#notified && early > 0) await this.#pause(early, () => this.ended)
    if (this.ended || !this.#notified) return undefined
    const changes = this.#changes
    this.#changes = new Map()
    this.#notified = false
    this.#last = performance.now()
    return changes
  }

  /** Waits for the time, or for a wake-up after which `isDone` holds. */
  async #pause(millis: number, isDone = () => true) {
    if (this.ended) return
    await new Promise<void>((resume) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resume()
      }
      const timer = setTimeout(done, millis)
      this.#wake = () => {
        if (isDone()) done()
      }
    })
  }
}
