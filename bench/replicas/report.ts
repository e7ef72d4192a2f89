/** What went wrong: each of these is a defect. */
const kinds = [
  "lost",
  "twice",
  "torn",
  "foreign",
  "wrong",
  "status",
  "noRetryAfter",
  "dropped",
  "unready",
  "notRecovered",
  "objectLost",
  "webhookMissing",
  "webhookTwice",
  "webhookRepeated",
  "eventMissing",
  "eventTwice",
  "keyAfterRevocation",
  "sessionAfterRevocation",
  "flagLate",
  "rateExceeded",
  "backupsAtOnce",
  "migrationTwice"
] as const
export type Finding = (typeof kinds)[number]

interface Millis {
  readonly count: number
  readonly median: number
  readonly p95: number
  readonly longest: number
}

export interface Report {
  readonly seed: number
  readonly balancer: string
  seconds: number
  requests: number
  acknowledged: number
  unavailable: number
  /** Requests in progress at a replica that was killed. */
  cut: number
  readonly faults: Record<string, number>
  /** Faults that this machine or the cluster can't have. */
  readonly skipped: ReadonlyArray<string>
  realtimeConnections: number
  gaps: number
  events: number
  webhooks: number
  webhookRepeats: number
  objects: number
  backups: number
  migrations: number
  slowestMillis: number
  /** Outside of faults: until a change of a flag, the end of a key and of a session hold in the other replicas. */
  readonly propagation: Record<"flags" | "keys" | "sessions", Millis | undefined>
  /** By fault and capability: until the first good answer after the fault, or after a replica was killed. */
  readonly recovery: Record<string, Record<string, Millis>>
  /** By the latest fault: how often requests ended in which error, by status and code. */
  readonly seen: Record<string, Record<string, number>>
  readonly findings: Record<Finding, number>
  readonly examples: Array<string>
}

export const findingsOf = ({ findings }: Report) => Object.values(findings).reduce((sum, count) => sum + count, 0)

const millisOf = (all: ReadonlyArray<number>): Millis | undefined => {
  if (all.length === 0) return undefined
  const sorted = all.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { count: sorted.length, median: at(0.5), p95: at(0.95), longest: at(1) }
}

/** Collects what happens in a run, and when faults were. */
export class Journal {
  readonly report: Report
  private readonly windows: Array<{ readonly from: number; to: number }> = []
  private fault = "none"
  private readonly samples: Record<"flags" | "keys" | "sessions", Array<number>> = { flags: [], keys: [], sessions: [] }
  private readonly recoveries = new Map<string, Map<string, Array<number>>>()

  constructor(seed: number, balancer: string, skipped: ReadonlyArray<string>) {
    this.report = {
      seed,
      balancer,
      seconds: 0,
      requests: 0,
      acknowledged: 0,
      unavailable: 0,
      cut: 0,
      faults: {},
      skipped,
      realtimeConnections: 0,
      gaps: 0,
      events: 0,
      webhooks: 0,
      webhookRepeats: 0,
      objects: 0,
      backups: 0,
      migrations: 0,
      slowestMillis: 0,
      propagation: { flags: undefined, keys: undefined, sessions: undefined },
      recovery: {},
      seen: {},
      findings: Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Finding, number>,
      examples: []
    }
  }

  found(kind: Finding, example: string) {
    this.report.findings[kind]++
    if (this.report.findings[kind] <= 10)
      this.report.examples.push(`${kind} at ${new Date().toISOString()}: ${example.slice(0, 500)}`)
  }

  faultBegins(kind: string) {
    this.report.faults[kind] = (this.report.faults[kind] ?? 0) + 1
    this.windows.push({ from: Date.now(), to: Number.POSITIVE_INFINITY })
    this.fault = kind
  }

  faultIsOver() {
    const last = this.windows.at(-1)
    if (last !== undefined) last.to = Date.now()
  }

  /** A request that did not succeed, within what a fault may explain. */
  saw(error: string) {
    const { seen } = this.report
    const ofFault = (seen[this.fault] ??= {})
    ofFault[error] = (ofFault[error] ?? 0) + 1
  }

  /** Whether there was a fault in this time, or so many ms before it. */
  disturbed(from: number, to: number, before: number) {
    return this.windows.some((window) => window.from <= to && window.to + before >= from)
  }

  /** When the last fault was over, in ms; undefined during one. */
  get calmSince(): number | undefined {
    const { to } = this.windows.at(-1) ?? { to: 0 }
    return Number.isFinite(to) ? to : undefined
  }

  propagated(what: "flags" | "keys" | "sessions", millis: number) {
    this.samples[what].push(millis)
  }

  recovered(fault: string, capability: string, millis: number) {
    const ofFault = this.recoveries.get(fault) ?? new Map<string, Array<number>>()
    this.recoveries.set(fault, ofFault)
    ofFault.set(capability, [...(ofFault.get(capability) ?? []), millis])
  }

  /** Brings the figures of the report up to date. */
  summarize() {
    const { propagation, recovery } = this.report
    for (const what of ["flags", "keys", "sessions"] as const) propagation[what] = millisOf(this.samples[what])
    for (const [fault, capabilities] of this.recoveries)
      recovery[fault] = Object.fromEntries(
        [...capabilities].flatMap(([name, all]) => {
          const millis = millisOf(all)
          return millis === undefined ? [] : [[name, millis]]
        })
      )
    return this.report
  }
}
