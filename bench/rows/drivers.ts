/**
 * The SQL of a scenario on a bare driver, without HTTP: `node bench/rows/drivers.ts <JSON of DriverOptions>` prints the
 * JSON of a LoadResult. 32 loops on a pool of 10 connections, as in the service.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { Pool } from "pg"
import { type RowSql } from "../../src/domain/rows/sql/Statement.ts"
import { type LoadResult } from "./load.ts"
import { connections, scenarios } from "./scenarios.ts"
import { newReads, readCatalogue, statementOf } from "./statements.ts"

export interface DriverOptions {
  readonly driver: "pg" | "sql-pg"
  /** The id of a scenario that is a GET of rows. */
  readonly scenario: string
  readonly url: string
  readonly seconds: number
}

/** Returns the first value of a statement, which is the response body. */
type Run = (statement: RowSql) => Promise<string>

const poolSize = 10

/** The statements of a scenario, in turn. */
const statementsOf = async ({ scenario, url }: DriverOptions) => {
  const found = scenarios.find(({ id }) => id === scenario)
  if (found === undefined) throw new Error(`Unknown scenario: ${scenario}`)
  const catalogue = await readCatalogue(url)
  const reads = newReads()
  return { right: found.right, all: found.paths.map((path) => statementOf(catalogue, reads, path)) }
}

/** Keeps 32 queries running; the first second is a warm-up and not counted. */
const measure = async (run: Run, options: DriverOptions): Promise<LoadResult> => {
  const { all, right } = await statementsOf(options)
  for (const statement of all) {
    if (!right(await run(statement))) throw new Error(`Wrong result of ${statement.text}`)
  }
  const started = performance.now() + 1000
  const end = started + options.seconds * 1000
  const took: Array<number> = []
  let failures = 0
  const loop = async (seed: number) => {
    for (let n = seed; performance.now() < end; n++) {
      const statement = all[n % all.length]
      if (statement === undefined) return
      const begin = performance.now()
      const good = await run(statement).then(
        () => true,
        () => false
      )
      if (!good) failures += 1
      else if (begin >= started) took.push(performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, seed) => loop(seed)))
  took.sort((a, b) => a - b)
  const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10
  return { rate: took.length / options.seconds, count: took.length, p50: at(0.5), p99: at(0.99), failures }
}

const byPg = async (options: DriverOptions) => {
  const pool = new Pool({ connectionString: options.url, max: poolSize })
  const result = await measure(async ({ params, text }) => {
    const { rows } = await pool.query<[string]>({ name: "one", text, values: [...params], rowMode: "array" })
    return rows[0]?.[0] ?? ""
  }, options)
  await pool.end()
  return result
}

const bySqlPg = (options: DriverOptions) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const client = yield* PgClient.make({ url: Redacted.make(options.url), maxConnections: poolSize })
        const run = Effect.runPromiseWith(yield* Effect.context())
        const query: Run = async ({ params, text }) => {
          const [row] = await run(client.unsafe(text, params).values)
          return String(row?.[0])
        }
        return yield* Effect.promise(() => measure(query, options))
      }).pipe(Effect.provide(Reactivity.layer))
    )
  )

if (import.meta.main) {
  const options: DriverOptions = JSON.parse(process.argv[2] ?? "{}")
  console.log(JSON.stringify(await (options.driver === "pg" ? byPg : bySqlPg)(options)))
}
