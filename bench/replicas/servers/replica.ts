import { writeFileSync } from "node:fs"
import { Program } from "./part.ts"

export interface ReplicaOptions {
  readonly entry: string
  readonly port: number
  readonly operationsPort: number
  readonly env: Readonly<Record<string, string>>
  /** libfaketime, and the file from which it reads by how much the replica's clock is wrong. */
  readonly clock: { readonly library: string; readonly file: string } | undefined
}

/** A replica of the service, on the same ports after every restart. */
export class Replica extends Program {
  readonly url: string
  /** Whether the balancer sends requests to it. */
  ready = false
  /** Times at which it was killed, in ms: requests in progress are lost then. */
  readonly killedAt: Array<number> = []
  private readonly operations: string
  private readonly clock: ReplicaOptions["clock"]

  constructor({ clock, entry, env, operationsPort, port }: ReplicaOptions) {
    super([process.execPath, entry], {
      ...env,
      PORT: String(port),
      SVC_OPERATIONS_PORT: String(operationsPort),
      ...(clock !== undefined && {
        LD_PRELOAD: clock.library,
        FAKETIME_TIMESTAMP_FILE: clock.file,
        FAKETIME_CACHE_DURATION: "1",
        // As when a clock is set: timers go on.
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        FAKETIME_DISABLE_SHM: "1"
      })
    })
    this.url = `http://127.0.0.1:${port}`
    this.operations = `http://127.0.0.1:${operationsPort}`
    this.clock = clock
    this.setClock(0)
  }

  get port() {
    return Number(new URL(this.url).port)
  }

  get operationsPort() {
    return Number(new URL(this.operations).port)
  }

  override signal(name: NodeJS.Signals) {
    if (name === "SIGKILL") this.killedAt.push(Date.now())
    super.signal(name)
  }

  /** Sets its clock ahead by so many seconds, which may be negative; it holds within a second. */
  setClock(seconds: number) {
    if (this.clock !== undefined) writeFileSync(this.clock.file, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}s\n`)
  }

  /** What a load balancer does: asks for readiness often, and waits for the answer briefly. */
  async check() {
    const signal = AbortSignal.timeout(1_000)
    const answer = await fetch(`${this.operations}/readyz`, { signal }).catch(() => undefined)
    this.ready = answer?.status === 200
    await answer?.arrayBuffer().catch(() => undefined)
  }
}
