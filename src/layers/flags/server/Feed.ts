import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagEnvironment } from "../../../domain/flags/Environment.ts"
import { type FlagChangeKind, type FlagSetChange } from "../../../domain/flags/sets/Snapshot.ts"
import { type Peer } from "./Peer.ts"

/** Maximum number of streams of this process. */
const maxSubscriptions = 10_000
/** Changes within this time are sent as one, in ms. */
const burstMillis = 20

/** Ends streams at shutdown: clients do not reconnect after OK. */
const shuttingDown = () => new ConnectError("The service is shutting down", Code.Unavailable)

type Changes = ReadonlyMap<string, FlagChangeKind>

/** The environments that a stream covers. */
type Environments = FlagEnvironment | "all" | "none"

/** Maximum number of streams of one connection and of one address. */
export interface StreamLimits {
  readonly connection: number
  readonly address: number
}

/** Sends changes to the streams of the flag ports. */
export class FlagFeed {
  readonly #subscriptions = new Set<FlagSubscription>()
  readonly #limits: StreamLimits
  readonly #ofConnections = new Map<object, number>()
  readonly #ofAddresses = new Map<string, number>()
  #ending = false

  constructor(limits: StreamLimits) {
    this.#limits = limits
  }

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
  subscribe(environments: Environments, signal: AbortSignal, peer: Peer): FlagSubscription {
    if (this.#ending) throw shuttingDown()
    const excess = this.excessOf(peer)
    if (excess !== undefined) throw new ConnectError(excess, Code.ResourceExhausted)
    this.#count(peer, 1)
    const subscription = new FlagSubscription(environments)
    this.#subscriptions.add(subscription)
    const leave = () => {
      this.#subscriptions.delete(subscription)
      this.#count(peer, -1)
      subscription.end(signal.reason)
    }
    // Ends by the signal, because a stream that is not read never reaches its end.
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave, { once: true })
    return subscription
  }

  /** Why the client may not have a further stream; undefined if it may. */
  excessOf({ address, connection }: Peer): string | undefined {
    const { address: ofAddress, connection: ofConnection } = this.#limits
    if (this.#subscriptions.size >= maxSubscriptions) return `The limit of ${maxSubscriptions} streams is reached`
    if ((this.#ofConnections.get(connection) ?? 0) >= ofConnection) {
      return `The limit of ${ofConnection} streams of one connection is reached`
    }
    return (this.#ofAddresses.get(address) ?? 0) >= ofAddress
      ? `The limit of ${ofAddress} streams of one address is reached`
      : undefined
  }

  #count({ address, connection }: Peer, change: 1 | -1) {
    add(this.#ofConnections, connection, change)
    add(this.#ofAddresses, address, change)
  }
}

const add = <K>(counts: Map<K, number>, key: K, change: number) => {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
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
