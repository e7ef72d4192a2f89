import { Client } from "pg"
import { Random } from "../isolation/random.ts"
import { type Case, makeCase, makeWildCase } from "./cases.ts"
import { makeDatabase } from "./database.ts"
import { type Asked, requestsOn, textOf } from "./requests.ts"
import { shrink } from "./shrink.ts"
import { type Target } from "./target.ts"

export interface Options {
  readonly seed: number
  /** Requests to make. */
  readonly statements: number
  /** Cases whose objects are made together. */
  readonly batch: number
  /** Stops at so many violations. */
  readonly stopAfter: number
  readonly progress?: (report: Report) => void
  readonly found?: (violation: Violation) => void
}

/** User code that ran on a connection where none may run. */
export interface Violation {
  readonly seed: number
  /** Requests made until it was found. */
  readonly after: number
  readonly ways: ReadonlyArray<string>
  readonly sql: string
  /** Those that show it together. */
  readonly requests: ReadonlyArray<string>
}

interface WayCount {
  cases: number
  refused: number
  reached: number
  clean: number
}

export interface Report {
  readonly seed: number
  statements: number
  cases: number
  /** Cases whose objects PostgreSQL did not accept. */
  refused: number
  /** Requests that succeeded. */
  answered: number
  /** Requests that ran on clean connections. */
  clean: number
  /** Cases with a tripwire, and those of them whose tripwire a request ran. */
  hidden: number
  reached: number
  /** Requests of cases without a tripwire, and those of them that ran on clean connections. */
  harmless: number
  harmlessClean: number
  seconds: number
  readonly ways: Record<string, WayCount>
  readonly violations: Array<Violation>
  /** Why PostgreSQL refused cases: the message, by ways. */
  readonly refusals: Array<string>
}

/** Cases after which the sessions are looked at, and how many of them are asked at once. */
const group = 32
const atOnce = 6

/** A case with what is asked of it, one after the other. */
interface Questions {
  readonly one: Case
  readonly requests: ReadonlyArray<Asked>
}

export const runTripwires = async (databaseUrl: string, target: Target, options: Options): Promise<Report> => {
  const outside = new Client({ connectionString: databaseUrl })
  await outside.connect()
  const { caught, make, reached, unmake } = makeDatabase(outside, target)
  const random = new Random(options.seed)
  const report: Report = {
    seed: options.seed,
    statements: 0,
    cases: 0,
    refused: 0,
    answered: 0,
    clean: 0,
    hidden: 0,
    reached: 0,
    harmless: 0,
    harmlessClean: 0,
    seconds: 0,
    ways: {},
    violations: [],
    refusals: []
  }
  const started = performance.now()
  let lastCase = 0
  let batches = 0
  const count = (one: Case, field: keyof WayCount) => {
    for (const way of new Set(one.ways))
      (report.ways[way] ??= { cases: 0, refused: 0, reached: 0, clean: 0 })[field] += 1
  }

  const refuse = (one: Case, why: string) => {
    report.refused += 1
    count(one, "refused")
    if (report.refusals.length < 4000) report.refusals.push(`${one.ways.join(" < ")} (${one.kind}): ${why}`)
  }

  const askAll = async ({ one, requests }: Questions) => {
    let cleanRequests = 0
    for (const asked of requests) {
      const { clean, done } = await target.ask(asked)
      if (done) report.answered += 1
      if (clean === true) cleanRequests += 1
    }
    report.statements += requests.length
    report.clean += cleanRequests
    if (cleanRequests > 0) count(one, "clean")
    if (one.trips) return
    report.harmless += requests.length
    report.harmlessClean += cleanRequests
  }

  /** Asks a group; returns those whose tripwires ran where they must not. */
  const askGroup = async (questions: ReadonlyArray<Questions>) => {
    const queue = questions.values()
    const lane = async () => {
      for (const next of queue) await askAll(next)
    }
    await Promise.all(Array.from({ length: atOnce }, lane))
    const ids = await caught()
    return questions.filter(({ one }) => ids.includes(one.id))
  }

  /** Whether the requests show the violation of the case when nothing but its objects exists. */
  const fails = async (candidate: Case, requests: ReadonlyArray<Asked>) => {
    const refused = await make([candidate])
    if (refused.size === 0) for (const asked of requests) await target.ask(asked)
    const ids = await caught()
    await unmake([candidate])
    return ids.includes(candidate.id)
  }

  const record = async ({ one, requests }: Questions, after: number) => {
    let needed = requests
    for (const asked of requests) {
      if (await fails(one, [asked])) {
        needed = [asked]
        break
      }
    }
    const sql = await shrink(one, (candidate) => fails(candidate, needed))
    const violation = {
      seed: options.seed,
      after,
      ways: one.ways,
      sql: `${sql.join(";\n")};`,
      requests: needed.map(textOf)
    }
    report.violations.push(violation)
    options.found?.(violation)
  }

  try {
    await outside.query(`alter database "${outside.database}" set track_functions = 'all'`)
    while (report.statements < options.statements && report.violations.length < options.stopAfter) {
      const cases =
        batches++ % 2 > 0
          ? [makeWildCase(random, ++lastCase)]
          : Array.from({ length: options.batch }, () => makeCase(random, ++lastCase))
      const refused = await make(cases)
      const asked: Array<Case> = []
      const found: Array<readonly [Questions, number]> = []
      for (let at = 0; at < cases.length && report.statements < options.statements; at += group) {
        const questions: Array<Questions> = []
        for (const one of cases.slice(at, at + group)) {
          report.cases += 1
          count(one, "cases")
          const why = refused.get(one.id)
          if (why === undefined) questions.push({ one, requests: requestsOn(one, random) })
          else refuse(one, why)
        }
        for (const failed of await askGroup(questions)) found.push([failed, report.statements])
        asked.push(...questions.map(({ one }) => one))
      }
      const ran = await reached()
      for (const one of asked.filter(({ trips }) => trips)) {
        report.hidden += 1
        if (!ran.has(one.id)) continue
        report.reached += 1
        count(one, "reached")
      }
      await unmake(cases)
      for (const [failed, after] of found) {
        if (report.violations.length < options.stopAfter) await record(failed, after)
      }
      report.seconds = (performance.now() - started) / 1000
      options.progress?.(report)
    }
  } finally {
    await outside.end()
  }
  return report
}
