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
  readonly request: string
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
  /** Requests of cases with a tripwire, and those of them during which it ran where user code may run. */
  hidden: number
  reached: number
  /** Requests of cases without a tripwire, and those of them that ran on clean connections. */
  harmless: number
  harmlessClean: number
  /** Requests that counted as clean, and ran again where user code may run. */
  again: number
  seconds: number
  readonly ways: Record<string, WayCount>
  readonly violations: Array<Violation>
  /** Why PostgreSQL refused cases: the message, by ways. */
  readonly refusals: Array<string>
}

export const runTripwires = async (databaseUrl: string, target: Target, options: Options): Promise<Report> => {
  const outside = new Client({ connectionString: databaseUrl })
  await outside.connect()
  const { caught, look, make, unmake } = makeDatabase(outside, target)
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
    again: 0,
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

  const askAll = async (one: Case, refusedWhy: string | undefined) => {
    report.cases += 1
    count(one, "cases")
    if (refusedWhy !== undefined) {
      report.refused += 1
      count(one, "refused")
      if (report.refusals.length < 4000) report.refusals.push(`${one.ways.join(" < ")} (${one.kind}): ${refusedWhy}`)
      return undefined
    }
    let calls = 0
    const reachedBefore = report.reached
    const cleanBefore = report.clean
    for (const asked of requestsOn(one, random)) {
      const told = await target.ask(asked)
      report.statements += 1
      if (told.status === "200") report.answered += 1
      if (told.clean === true) report.clean += 1
      const { calls: total, held } = await look(one)
      const ran = total > calls
      calls = total
      if (one.trips) {
        report.hidden += 1
        if (ran) report.reached += 1
      } else {
        report.harmless += 1
        if (told.clean === true) report.harmlessClean += 1
      }
      if (held && (await caught()).includes(one.id)) return asked
      // As where a name is found by the search path of user code only.
      if (told.clean === true && ran) report.again += 1
    }
    if (report.reached > reachedBefore) count(one, "reached")
    if (report.clean > cleanBefore) count(one, "clean")
    return undefined
  }

  try {
    await outside.query(`alter database "${outside.database}" set track_functions = 'all'`)
    while (report.statements < options.statements && report.violations.length < options.stopAfter) {
      const cases =
        batches++ % 2 > 0
          ? [makeWildCase(random, ++lastCase)]
          : Array.from({ length: options.batch }, () => makeCase(random, ++lastCase))
      const refused = await make(cases)
      const found: Array<readonly [Case, Asked, number]> = []
      for (const one of cases) {
        if (report.statements >= options.statements) break
        const asked = await askAll(one, refused.get(one.id))
        if (asked !== undefined) found.push([one, asked, report.statements])
      }
      await unmake(cases)
      for (const [one, asked, after] of found) {
        if (report.violations.length >= options.stopAfter) break
        const sql = await shrink(one, async (candidate) => {
          const refused = await make([candidate])
          if (refused.size === 0) await target.ask(asked)
          const fails = (await caught()).includes(one.id)
          await unmake([candidate])
          return fails
        })
        const violation = {
          seed: options.seed,
          after,
          ways: one.ways,
          sql: `${sql.join(";\n")};`,
          request: textOf(asked)
        }
        report.violations.push(violation)
        options.found?.(violation)
      }
      report.seconds = (performance.now() - started) / 1000
      options.progress?.(report)
    }
  } finally {
    await outside.end()
  }
  return report
}
