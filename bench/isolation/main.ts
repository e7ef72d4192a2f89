/**
 * `npm run check:isolation`: whether any of hundreds of callers ever gets, changes or loses rows because of another, while
 * functions poison their sessions, tables change, clients hang up and sessions end. On a new embedded PostgreSQL in the
 * temporary directory. Exit code 1 if anything was found.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { Client } from "pg"
import { type PostgresCluster, startPostgresCluster } from "../support/cluster.ts"
import { makeCitusDatabase } from "../support/citus.ts"
import { makePgBouncer } from "../support/pgbouncer.ts"
import { defaultEntry, withService } from "../support/service.ts"
import { runDistributed, setUpDistributed } from "./distributed.ts"
import { type PoisonGroup, poisonGroups } from "./poisons.ts"
import { defaults, findingsOf, runIsolation, setUp } from "./run.ts"

const help = `npm run check:isolation -- [options]
  --answers N       answers to check (default ${defaults.answers})
  --seed N          of the random choices (default: from the clock)
  --users N         users with a JWT (default ${defaults.users}); a tenth as many of each other kind of caller
  --concurrency N   requests at once (default ${defaults.concurrency})
  --poisons a,b     groups of poisons: ${poisonGroups.join(", ")}; or none (default: all)
  --mix all|writes  what the callers do (default ${defaults.mix})
  --ddl N           answers between changes of tables, policies and functions; 0: none (default ${defaults.ddlEvery})
  --kills N         answers between ends of a session or statement from outside; 0: none (default ${defaults.killEvery})
  --hang-ups SHARE  of requests whose client hangs up (default ${defaults.hangUps})
  --standbys N      standbys that serve clean reads (default 0)
  --citus URL       on tables distributed by a Citus cluster: its coordinator, in a database that has workers
  --pooler          through a PgBouncer in transaction mode, without standbys
  --stop-after N    findings (default: never)
  --entry FILE      the service's program (default dist/main.mjs)`

const { values } = parseArgs({
  options: {
    answers: { type: "string", default: String(defaults.answers) },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    users: { type: "string", default: String(defaults.users) },
    concurrency: { type: "string", default: String(defaults.concurrency) },
    poisons: { type: "string", default: poisonGroups.join(",") },
    mix: { type: "string", default: defaults.mix },
    ddl: { type: "string", default: String(defaults.ddlEvery) },
    kills: { type: "string", default: String(defaults.killEvery) },
    "hang-ups": { type: "string", default: String(defaults.hangUps) },
    standbys: { type: "string", default: "0" },
    pooler: { type: "boolean", default: false },
    citus: { type: "string" },
    "stop-after": { type: "string", default: "Infinity" },
    entry: { type: "string", default: defaultEntry },
    help: { type: "boolean", default: false }
  }
})

const groups = (values.poisons === "none" ? [] : values.poisons.split(",")) as ReadonlyArray<PoisonGroup>
const options = {
  answers: Number(values.answers),
  seed: Number(values.seed),
  users: Number(values.users),
  concurrency: Number(values.concurrency),
  ddlEvery: Number(values.ddl),
  killEvery: Number(values.kills),
  hangUps: Number(values["hang-ups"]),
  maxFindings: Number(values["stop-after"]),
  mix: values.mix === "writes" ? ("writes" as const) : ("all" as const),
  groups
}

const jwtSecret = randomBytes(32).toString("base64url")

const superuser = (password: string) => [`create role bench_driver superuser login password '${password}'`]

/** What is tested does not depend on waits for the disk. */
const withoutSync = async (databaseUrl: string) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("alter system set fsync = off")
  await client.query("select pg_reload_conf()")
  await client.end()
}

const readUrls = ({ standbys, url }: PostgresCluster) => standbys.map((standby) => url(standby)).join(" ")

const main = async () => {
  const embedded = values.standbys === "0" && !values.pooler
  await using cluster = embedded ? undefined : await startPostgresCluster(Number(values.standbys))
  const direct = cluster?.url(cluster.primary) ?? ""
  await using pooler = values.pooler
    ? await makePgBouncer(direct, { default_pool_size: 8, query_wait_timeout: 20 })
    : undefined
  const replicated = cluster && {
    DATABASE_URL: pooler?.through(direct) ?? direct,
    ...(pooler && { DATABASE_DIRECT_URL: direct }),
    ...(cluster.standbys.length > 0 && { DATABASE_READ_URLS: readUrls(cluster) })
  }
  return await withService(
    {
      entry: values.entry,
      profile: false,
      setup: superuser,
      env: { SVC_DB_SCHEMAS: "public,other", SVC_DB_TIMEOUT: "2s", SVC_JWT_SECRET: jwtSecret, ...replicated }
    },
    async ({ credentials, databaseUrl, url }) => {
      await withoutSync(databaseUrl)
      await setUp({ databaseUrl }, options.users)
      const { anon, service } = credentials
      const target = { url, anon, service_role: service, jwtSecret, databaseUrl }
      const report = await runIsolation(target, {
        ...options,
        progress: ({ answers, ddl, findings, hungUp, kills, poisons, seconds }) =>
          Math.round(seconds) % 5 === 0 &&
          console.log(
            `${seconds.toFixed(0)} s: ${answers} answers, ${poisons} poisons, ${hungUp} hung up, ${ddl} changes, ${kills} kills`,
            JSON.stringify(findings)
          )
      })
      console.log(JSON.stringify(report, undefined, 2))
      for (const standby of cluster?.standbys ?? []) {
        const [row] = await standby.sql("select sum(seq_scan + coalesce(idx_scan, 0)) as n from pg_stat_user_tables")
        console.log(`The standby on port ${standby.port} has scanned tables ${String(row?.["n"])} times`)
      }
      return findingsOf(report) === 0 ? 0 : 1
    }
  )
}

const onCitus = async (coordinator: string) => {
  await using database = await makeCitusDatabase(coordinator)
  const env = { DATABASE_URL: database.url, SVC_JWT_SECRET: jwtSecret, SVC_DB_TIMEOUT: "30s" }
  return await withService(
    { entry: values.entry, profile: false, setup: () => [], env },
    async ({ credentials: { anon, service }, url }) => {
      await setUpDistributed(database.url, options.users)
      const target = { url, anon, service_role: service, jwtSecret, databaseUrl: database.url }
      const report = await runDistributed(target, options)
      console.log(JSON.stringify(report, undefined, 2))
      return report.foreign.length + report.errors.length === 0 ? 0 : 1
    }
  )
}

if (values.help || groups.some((group) => !poisonGroups.includes(group)) || !(options.answers >= 1)) {
  console.log(help)
  process.exitCode = values.help ? 0 : 1
} else {
  process.exitCode = values.citus === undefined ? await main() : await onCitus(values.citus)
}
