/** The other clients: measures how long cheap requests take while somebody abuses the service. See support/remote.ts. */
import { constants, setPriority } from "node:os"
import { now } from "../support/clock.ts"
import { serve } from "../support/remote.ts"
import { Client, request, type Request } from "./client.ts"
import { probedPath } from "./database.ts"

interface Probed {
  readonly port: number
  /** The abusive client's key, and that of another caller. */
  readonly ownKey: string
  readonly otherKey: string
}

/** What one kind of request met since the last look. */
export interface Delays {
  /** The largest delay in ms, also of a request that has no response yet. */
  readonly max: number
  readonly count: number
  /** Numbers of responses other than 200, and of connections that closed without one. */
  readonly failures: Readonly<Record<string, number>>
}

export interface Probes {
  readonly health: Delays
  /** The read of a row with another key, from another address. */
  readonly other: Delays
  /** The same with the abusive client's key, from a third address. */
  readonly own: Delays
  /** The largest delay of this process's own timers, in ms. */
  readonly late: number
}

const everyMillis = 50

/** Sends a request every 50 ms over its own connection, unless the one before is still without a response. */
class Probe {
  private readonly client: Client
  private readonly request: Request
  private since: number | undefined
  private max = 0
  private count = 0
  private failures: Record<string, number> = {}

  constructor(port: number, localAddress: string, request: Request) {
    this.request = request
    this.client = new Client(0, { port, localAddress }, (outcome) => {
      const ended = typeof outcome === "string" ? outcome : outcome.status
      if (ended !== 200) this.failures[ended] = (this.failures[ended] ?? 0) + 1
    })
  }

  async turn() {
    if (this.since !== undefined) return
    this.since = now()
    await this.client.send(this.request)
    this.max = Math.max(this.max, now() - this.since)
    this.count += 1
    this.since = undefined
  }

  take(): Delays {
    const { count, failures, max, since } = this
    this.max = 0
    this.count = 0
    this.failures = {}
    return { count, failures, max: Math.max(max, since === undefined ? 0 : now() - since) }
  }
}

let probes: Record<"health" | "other" | "own", Probe> | undefined
let late = 0
let last = now()

const tick = () => {
  late = Math.max(late, now() - last - everyMillis)
  last = now()
  for (const probe of Object.values(probes ?? {})) void probe.turn()
}

const begin = ({ otherKey, ownKey, port }: Probed) => {
  try {
    // Its delays are to be those of the service.
    setPriority(constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Only root may.
  }
  const read = (key: string) => request("GET", probedPath, { apikey: key })
  probes = {
    health: new Probe(port, "127.0.0.2", request("GET", "/healthz", {})),
    other: new Probe(port, "127.0.0.2", read(otherKey)),
    own: new Probe(port, "127.0.0.3", read(ownKey))
  }
  last = now()
  setInterval(tick, everyMillis)
}

/** What the requests met since the last call. */
const take = (): Probes => {
  if (probes === undefined) throw new Error("Nothing is probed")
  const { health, other, own } = probes
  const taken = { health: health.take(), other: other.take(), own: own.take(), late }
  late = 0
  return taken
}

const calls = { begin, take }
export type Prober = typeof calls

if (import.meta.main) serve(calls)
