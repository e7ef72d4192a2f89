/** Abuses a service and measures what other clients and the machine notice. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type Remote, remote } from "../support/remote.ts"
import { type Memory, memoryOf, processorTime } from "../support/resources.ts"
import { type Service, withService } from "../support/service.ts"
import { type Answers } from "./answers.ts"
import { type Attacker } from "./attacker.ts"
import { type Fixture, newKey, prepare } from "./database.ts"
import { type FuzzAnswers } from "./fuzz.ts"
import { type Target } from "./pattern.ts"
import { type Delays, type Prober, type Probes } from "./prober.ts"

export interface Measured {
  readonly answers: Answers
  /** Of all probes during the attack and until everything was as before. */
  readonly probes: Probes
  /** Largest growth in MiB, of each and of both at one time. */
  readonly growth: Memory & { readonly together: number }
  /** How long after the attack the probes were answered as quickly as before, and memory was within 100 MiB of what it was. */
  readonly recovered: { readonly delays: number | undefined; readonly memory: number | undefined }
  /** Growth in MiB at the end. */
  readonly left: Memory
  /** Share of a core that the abusive client used. */
  readonly busy: number
  /** Whether the attack was stopped because memory grew too much. */
  readonly stopped: boolean
  readonly ended: boolean
}

const calmMillis = 1_500
const everyMillis = 250
/** Memory is as before within so many MiB. */
const slack = 100
/** A probe is as quick as before below so many ms. */
const quickMillis = 100
/** An attack ends when memory has grown by so many MiB, for the sake of the machine. */
const mostGrowth = 6_000

const none: Delays = { max: 0, count: 0, failures: {} }

const together = (one: Delays, other: Delays): Delays => {
  const failures = { ...one.failures }
  for (const [ended, count] of Object.entries(other.failures)) failures[ended] = (failures[ended] ?? 0) + count
  return { max: Math.max(one.max, other.max), count: one.count + other.count, failures }
}

const allTogether = (one: Probes, other: Probes): Probes => ({
  health: together(one.health, other.health),
  other: together(one.other, other.other),
  own: together(one.own, other.own),
  late: Math.max(one.late, other.late)
})

const isQuick = ({ health, other, own }: Probes) =>
  [health, other, own].every(({ failures, max }) => max < quickMillis && Object.keys(failures).length === 0)

/** Samples memory every 250 ms until `end`. */
const watch = (pid: number, before: Memory, tooMuch: () => void) => {
  let growth = { service: 0, postgres: 0, together: 0 }
  const over = new AbortController()
  const sample = async () => {
    const memory = await memoryOf(pid)
    const now = { service: memory.service - before.service, postgres: memory.postgres - before.postgres }
    const both = now.service + now.postgres
    growth = {
      service: Math.max(growth.service, now.service),
      postgres: Math.max(growth.postgres, now.postgres),
      together: Math.max(growth.together, both)
    }
    if (both > mostGrowth) tooMuch()
    return now
  }
  const done = (async () => {
    for (; !over.signal.aborted; await sleep(everyMillis)) await sample()
  })()
  const end = async () => {
    over.abort()
    await done
    return growth
  }
  return { sample, end }
}

const recovery = async (prober: Remote<Prober>, sample: () => Promise<Memory>, recoveryMillis: number) => {
  const began = performance.now()
  let probes: Probes = { health: none, other: none, own: none, late: 0 }
  let delays: number | undefined
  let memory: number | undefined
  for (;;) {
    const left = await sample()
    const seconds = (performance.now() - began) / 1000
    if (left.service < slack && left.postgres < slack) memory ??= seconds
    else memory = undefined
    if (delays !== undefined && memory !== undefined) return { probes, recovered: { delays, memory }, left }
    if (seconds * 1000 > recoveryMillis) return { probes, recovered: { delays, memory }, left }
    await sleep(2 * everyMillis)
    const taken = await prober.call("take", undefined)
    if (isQuick(taken)) delays ??= seconds
    else delays = undefined
    probes = allTogether(probes, taken)
  }
}

/** What a service's clients know. */
export const targetOf = async ({
  credentials,
  dataDir,
  flagPorts,
  s3Url,
  url
}: Pick<Service, "credentials" | "dataDir" | "flagPorts" | "s3Url" | "url">): Promise<Target> => {
  const secrets: Record<string, string> = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8"))
  const { evaluation: flags, ofrep, sync } = flagPorts
  const portOf = (url: string) => Number(new URL(url).port)
  return {
    ports: { api: portOf(url), ofrep, flags, sync, s3: portOf(s3Url) },
    key: credentials.anon,
    accessKeyId: secrets["s3_access_key"] ?? ""
  }
}

const noSetup = () => []

/** A new service with tables. */
export const withTarget = <A>(
  entry: string,
  needs: ReadonlyArray<Fixture>,
  use: (target: Target, service: Service) => Promise<A>
) =>
  withService({ entry, profile: false, setup: noSetup }, async (service) => {
    await prepare(service, needs)
    return use(await targetOf(service), service)
  })

/** Measures an attack on a service; then waits until everything is as before, at most `recoveryMillis`. */
export const measure = async <A extends Answers | FuzzAnswers>(
  target: Target,
  service: Pick<Service, "credentials" | "pid" | "url">,
  attack: (attacker: Remote<Attacker>) => Promise<A>,
  recoveryMillis = 15_000
): Promise<Measured & { readonly answers: A }> => {
  const prober = remote<Prober>("abuse/prober.ts")
  const attacker = remote<Attacker>("abuse/attacker.ts")
  try {
    const otherKey = await newKey(service)
    await prober.call("begin", { port: target.ports.api, ownKey: target.key, otherKey })
    await sleep(calmMillis)
    await prober.call("take", undefined)
    const before = await memoryOf(service.pid)
    let stopped = false
    const { end, sample } = watch(service.pid, before, () => {
      if (!stopped) void attacker.call("stop", undefined)
      stopped = true
    })
    const [began, used] = [performance.now(), await processorTime(attacker.pid)]
    const answers = await attack(attacker)
    const busy = ((await processorTime(attacker.pid)) - used) / ((performance.now() - began) / 1000)
    const during = await prober.call("take", undefined)
    const { left, probes, recovered } = await recovery(prober, sample, recoveryMillis)
    const growth = await end()
    const ended = (await memoryOf(service.pid)).service === 0
    return { answers, probes: allTogether(during, probes), growth, recovered, left, busy, stopped, ended }
  } finally {
    await Promise.all([prober.stop(), attacker.stop()])
  }
}
