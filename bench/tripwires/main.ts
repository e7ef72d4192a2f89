/**
 * `npm run check:tripwires`: whether user code ever runs on a connection that callers share. Schemas are made at random, in
 * which functions that leave a trace in their session are called in every way that PostgreSQL offers. On a new embedded
 * PostgreSQL in the temporary directory. Exit code 1 if a connection has a trace.
 */
import { Effect, Layer } from "effect"
import { Client } from "pg"
import { parseArgs } from "node:util"
import { install } from "../../src/layers/install/Install.ts"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import { layerOwnTables } from "../../src/layers/postgres/Db.ts"
import { parseLogin } from "../../src/layers/postgres/Login.ts"
import { defaultEntry, withService } from "../support/service.ts"
import { randomBytes } from "node:crypto"
import { makeSchemas } from "./database.ts"
import { overHttp } from "./http.ts"
import { type Options, type Report, runTripwires, type Violation } from "./run.ts"
import { inProcess, settings } from "./target.ts"

const help = `npm run check:tripwires -- [options]
  --statements N    requests to make (default 20000), a twentieth of them over HTTP
  --seed N          of the random choices (default: from the clock)
  --batch N         cases whose objects exist at once (default 250)
  --stop-after N    violations (default 20)
  --ways            prints how often each way was made, refused by PostgreSQL, reached and clean
  --refusals        prints why PostgreSQL refused cases
  --entry FILE      the service's program (default dist/main.mjs)`

const { values } = parseArgs({
  options: {
    statements: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    batch: { type: "string", default: "250" },
    "stop-after": { type: "string", default: "20" },
    ways: { type: "boolean", default: false },
    refusals: { type: "boolean", default: false },
    entry: { type: "string", default: defaultEntry },
    help: { type: "boolean", default: false }
  }
})

const found = ({ after, requests, sql, ways }: Violation) =>
  console.log(
    `\nUser code ran on a shared connection, after ${after} requests (${ways.join(" < ")}):\n${sql}\n-- ${requests.join("\n-- ")}\n`
  )

const progress = ({
  cases,
  clean,
  harmless,
  harmlessClean,
  hidden,
  reached,
  refused,
  seconds,
  statements,
  violations
}: Report) =>
  console.log(
    `${seconds.toFixed(0)} s: ${statements} requests, ${clean} clean, of those of cases without a tripwire ${harmlessClean} of ${harmless}; ${reached} of ${hidden} tripwires reached; ${refused} of ${cases} cases refused; ${violations.length} violations`
  )

const print = ({ refusals, violations, ways, ...counts }: Report) => {
  if (values.refusals) for (const line of refusals) console.log(line)
  if (values.ways) {
    for (const [way, { cases, clean, reached, refused }] of Object.entries(ways).sort()) {
      console.log(`${way}: ${cases} cases, ${refused} refused, ${reached} reached, ${clean} clean`)
    }
  }
  console.log(JSON.stringify({ ...counts, violations: violations.length }))
  return violations.length
}

/** A second database with the service installed, whose catalogue the service's own process does not read. Returns its URL. */
const newDatabase = async (databaseUrl: string) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("create database tripwires")
  await client.end()
  const url = new URL(databaseUrl)
  url.pathname = "tripwires"
  const login = parseLogin(url.href)
  if (login === undefined) throw new Error("The address of the database is invalid")
  await install({ serviceRole: login.user, schemas: ["public"] }).pipe(
    Effect.provide(Layer.provide(layerOwnTables, Layer.succeed(PostgresAddress, login))),
    Effect.runPromise
  )
  await makeSchemas(url.href)
  return url.href
}

const jwtSecret = randomBytes(32).toString("base64url")

const main = () =>
  withService(
    {
      entry: values.entry,
      profile: false,
      setup: (password) => [`create role bench_driver superuser login password '${password}'`, "create schema other"],
      env: { SVC_JWT_SECRET: jwtSecret, ...settings }
    },
    async ({ credentials: { anon, service }, databaseUrl, url }) => {
      const options: Options = {
        seed: Number(values.seed),
        statements: Number(values.statements),
        batch: Number(values.batch),
        stopAfter: Number(values["stop-after"]),
        found,
        progress
      }
      await using http = overHttp({ url, anon, service_role: service, jwtSecret })
      const overWire = await runTripwires(databaseUrl, http, {
        ...options,
        seed: options.seed + 1,
        statements: Math.ceil(options.statements / 20)
      })
      const own = await newDatabase(databaseUrl)
      await using layers = await inProcess(own)
      const inside = await runTripwires(own, layers, {
        ...options,
        statements: options.statements - overWire.statements
      })
      return print(overWire) + print(inside) === 0 ? 0 : 1
    }
  )

if (values.help || !(Number(values.statements) >= 1) || !(Number(values.batch) >= 1)) {
  console.log(help)
  process.exitCode = values.help ? 0 : 1
} else {
  process.exitCode = await main()
}
