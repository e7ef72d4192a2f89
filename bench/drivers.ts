/**
 * The same statement as scenario a on a bare driver, without HTTP: `node bench/drivers.ts <JSON of DriverOptions>`
 * prints the JSON of a LoadResult. 32 loops on a pool of 10 connections, as the service has.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { Pool } from "pg"
import { type LoadResult } from "./load.ts"
import { connections, rows } from "./scenarios.ts"

export interface DriverOptions {
  readonly driver: "pg" | "sql-pg"
  readonly url: string
  readonly seconds: number
}

const sql = "select coalesce(json_agg(t), '[]')::text as body from (select id, title, done from bench where id = $1) t"
const poolSize = 10

/** Keeps 32 queries going; a second of warming up is not counted. */
const measure = async (query: (id: number) => Promise<unknown>, seconds: number): Promise<LoadResult> => {
  const started = performance.now() + 1000
  const end = started + seconds * 1000
  const took: Array<number> = []
  let failures = 0
  const loop = async (seed: number) => {
    for (let id = seed; performance.now() < end; id = (id % rows) + 1) {
      const begin = performance.now()
      const good = await query(id).then(
        () => true,
        () => false
      )
      if (!good) failures += 1
      else if (begin >= started) took.push(performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, seed) => loop(seed + 1)))
  took.sort((a, b) => a - b)
  const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10
  return { rate: took.length / seconds, p50: at(0.5), p99: at(0.99), failures }
}

const byPg = async (url: string, seconds: number) => {
  const pool = new Pool({ connectionString: url, max: poolSize })
  const result = await measure((id) => pool.query({ name: "one", text: sql, values: [id] }), seconds)
  await pool.end()
  return result
}

const bySqlPg = (url: string, seconds: number) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const client = yield* PgClient.make({ url: Redacted.make(url), maxConnections: poolSize })
        const run = Effect.runPromiseWith(yield* Effect.context())
        return yield* Effect.promise(() => measure((id) => run(client.unsafe(sql, [id])), seconds))
      }).pipe(Effect.provide(Reactivity.layer))
    )
  )

if (import.meta.main) {
  const { driver, seconds, url }: DriverOptions = JSON.parse(process.argv[2] ?? "{}")
  console.log(JSON.stringify(await (driver === "pg" ? byPg : bySqlPg)(url, seconds)))
}
