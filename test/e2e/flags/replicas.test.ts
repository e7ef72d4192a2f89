import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { type Flag } from "../../../src/domain/flags/Flag.ts"
import { type FlagEvaluation } from "../../../src/domain/flags/Evaluation.ts"
import { flagsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { assertRefused } from "../../support/client.ts"
import { evaluate, flagOf, flags, makeFlag, makeSegment } from "../../support/flags/api.ts"
import { runToEnd, type Service, startService, until } from "../../support/service.ts"

const server = new URL(inject("databaseUrl"))
const database = "flags_replicas"
const url = (() => {
  const own = new URL(server)
  own.pathname = database
  return own.href
})()

const run = async (on: string, ...statements: ReadonlyArray<string>) => {
  const client = new Client({ connectionString: on })
  client.on("error", () => undefined)
  await client.connect()
  try {
    let rows: ReadonlyArray<Record<string, unknown>> = []
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement))
    return rows
  } finally {
    await client.end()
  }
}

/** Waits until the service, which may not have been notified yet, returns this variant. Returns the ms. */
const settle = async (service: Service, flagKey: string, wanted: Partial<FlagEvaluation>) => {
  const began = Date.now()
  const [name = "", value] = Object.entries(wanted)[0] ?? []
  const seen = await until(
    async () => (await flags(service, "POST /evaluate", { flagKey, context: { plan: "pro" } })).json,
    (json) => (json as Record<string, unknown>)[name] === value
  )
  assert.deepInclude(seen, wanted)
  return Date.now() - began
}

const onFor = (rule: object) => ({ if: [rule, "on", "off"] })
const plan = (name: string) => ({ "==": [{ var: "plan" }, name] })

describe("services on one database", () => {
  let first: Service
  let second: Service
  const keys = () => ({ anon: first.anon, service_role: first.service_role })

  beforeAll(async () => {
    await run(
      server.href,
      `drop database if exists ${database} with (force)`,
      `do $$ declare name text; begin
         for name in select rolname from pg_roles where rolname like 'svc\\_authenticator%' loop
           execute format('drop role %I', name);
         end loop;
       end $$`,
      `create database ${database}`
    )
    first = await startService({ env: { DATABASE_URL: url } })
    second = { ...(await startService({ env: { DATABASE_URL: url } })), ...keys() }
  })
  afterAll(async () => {
    for (const service of [first, second]) {
      await service.stop()
      const errors = service
        .output()
        .split("\n")
        .filter((line) => line.includes('"level":"ERROR"'))
      assert.deepStrictEqual(errors, [])
      await service[Symbol.asyncDispose]()
    }
    await run(server.href, `drop database ${database} with (force)`)
  })

  it("evaluate each other's changes, of flags and of segments", async () => {
    await makeSegment(first, "r.seg", plan("free"))
    await makeFlag(first, "r.flag", { targeting: onFor({ $ref: "r.seg" }) })
    await settle(second, "r.flag", { variant: "off" })
    for (const [on, other, name] of [
      [first, second, "pro"],
      [second, first, "free"],
      [first, second, "pro"]
    ] as const) {
      await flags(on, "PUT /segments/r.seg", { rules: plan(name) })
      const variant = name === "pro" ? "on" : "off"
      assert.strictEqual(
        (await evaluate(on, "r.flag", { plan: "pro" })).variant,
        variant,
        "the writer applies its change immediately"
      )
      assert.isBelow(await settle(other, "r.flag", { variant }), 5_000)
    }
    await flags(second, "DELETE /r.flag")
    const gone = await until(
      () => flags(first, "POST /evaluate", { flagKey: "r.flag" }),
      ({ status }) => status === 404
    )
    assertRefused(gone, 404, "FLAG_NOT_FOUND")
  })

  it("load the changes made while their listener was disconnected", async () => {
    await makeFlag(first, "r.lost", { targeting: onFor(plan("pro")) })
    await settle(second, "r.lost", { variant: "on" })
    for (let round = 0; round < 3; round++) {
      await run(url, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc listener'")
      await flags(first, "PATCH /r.lost/toggle")
      const reason = round % 2 === 0 ? "DISABLED" : "TARGETING_MATCH"
      assert.strictEqual((await evaluate(first, "r.lost", { plan: "pro" })).reason, reason)
      await settle(second, "r.lost", { reason })
    }
  })

  it("log that the database rejects them, and continue evaluating", async () => {
    await makeFlag(first, "r.away", { targeting: onFor(plan("pro")) })
    await settle(second, "r.away", { variant: "on" })
    await run(
      server.href,
      `alter database ${database} allow_connections false`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`
    )
    try {
      for (let n = 0; n < 20; n++) {
        const reply = await flags(second, "POST /evaluate", { flagKey: "r.away", context: { plan: "pro" } })
        // A key that can't be looked up is rejected; flags are evaluated as before.
        if (reply.status === 200) assert.deepInclude(reply.json, { value: true, reason: "TARGETING_MATCH" })
        else assertRefused(reply, 503, "DATABASE_UNAVAILABLE")
        assertRefused(await flags(first, "PATCH /r.away/toggle"), 503, "DATABASE_UNAVAILABLE")
        await sleep(20)
      }
    } finally {
      await run(server.href, `alter database ${database} allow_connections true`)
    }
    assert.strictEqual(
      (
        await until(
          () => flags(first, "GET /r.away"),
          ({ status }) => status === 200
        )
      ).status,
      200
    )
    assert.strictEqual((await flagOf(first, "GET /r.away")).state, "ENABLED")
    assert.strictEqual((await flags(first, "PATCH /r.away/toggle")).status, 200)
    await settle(second, "r.away", { reason: "DISABLED" })
  })

  it("serialise their writers: of many with one expected revision, one succeeds", async () => {
    const { revision } = await makeFlag(first, "r.race")
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        flags(n % 2 === 0 ? first : second, "PUT /r.race", { description: String(n) }, { "if-match": `"${revision}"` })
      )
    )
    assert.deepStrictEqual(replies.map(({ status }) => status).sort(), [200, ...Array.from({ length: 11 }, () => 412)])
    const description = (replies.find(({ status }) => status === 200)?.json as Flag | undefined)?.description
    for (const service of [first, second]) {
      assert.strictEqual((await flagOf(service, "GET /r.race")).description, description)
    }
    // A writer that holds the lock and is idle is terminated.
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query(`begin; select pg_advisory_xact_lock(${flagsLock})`)
    assertRefused(await flags(second, "PATCH /r.race/toggle"), 503, "FLAGS_BUSY")
    await holder.end()
    assert.strictEqual((await flags(second, "PATCH /r.race/toggle")).status, 200)
  })

  it("leave no partial writes when killed", async () => {
    await makeSegment(first, "r.kill", plan("pro"))
    for (let n = 0; n < 5; n++) await makeFlag(first, `r.kill-${n}`, { targeting: onFor({ $ref: "r.kill" }) })
    for (let round = 0; round < 3; round++) {
      const victim = { ...(await startService({ env: { DATABASE_URL: url } })), ...keys() }
      const stop = new AbortController()
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; !stop.signal.aborted; n++) {
          const key = `r.kill-${writer}`
          const line = n % 5 === 0 ? "PUT /segments/r.kill" : n % 2 === 0 ? `PATCH /${key}/toggle` : `PUT /${key}`
          const body =
            n % 5 === 0 ? { rules: plan(`pro-${writer}-${n}`) } : n % 2 === 0 ? undefined : { description: `${n}` }
          await flags(victim, line, body).catch(() => stop.abort())
        }
      })
      await sleep(150 + 100 * round)
      await victim.stop("SIGKILL")
      stop.abort()
      await Promise.all(writers)
      await victim[Symbol.asyncDispose]()
    }
    // Writes are complete: history, revisions and stored flags agree.
    const [odd] = await run(
      url,
      `select
         (select count(*)::int from svc.flags f where revision <>
           (select max(revision) from svc.flag_history h where h.kind = 'flag' and h.key = f.key)) as flags,
         (select count(*)::int from svc.flag_segments s where revision <>
           (select max(revision) from svc.flag_history h where h.kind = 'segment' and h.key = s.key)) as segments,
         (select count(*)::int from svc.flag_history h join svc.flag_segments s on h.kind = 'segment' and h.key = s.key
           and h.revision = s.revision where h.after->'rules' is null or h.after->>'rules' <> s.rules::text) as rules,
         (select revision from svc.flag_revision) <> (select max(revision) from svc.flag_history) as behind,
         (select count(*) <> count(distinct revision) from svc.flag_history) as twice,
         (select max(revision) from svc.flag_environments) > (select revision from svc.flag_revision) as ahead`
    )
    assert.deepStrictEqual(odd, { flags: 0, segments: 0, rules: 0, behind: false, twice: false, ahead: false })
    // The surviving services evaluate it.
    const stored = (await flags(first, "GET /segments/r.kill")).json as { readonly rules: { "==": [unknown, string] } }
    const name = stored.rules["=="][1]
    for (let n = 0; n < 5; n++) {
      const { state } = await flagOf(first, `GET /r.kill-${n}`)
      for (const service of [first, second]) {
        const wanted = state === "ENABLED" ? "TARGETING_MATCH on" : "DISABLED off"
        const seen = await until(
          async () => {
            const { reason, variant } = await evaluate(service, `r.kill-${n}`, { plan: name })
            return `${reason} ${variant}`
          },
          (result) => result === wanted
        )
        assert.strictEqual(seen, wanted)
      }
    }
    assert.strictEqual((await flags(first, "PATCH /r.kill-0/toggle")).status, 200)
  })
})

it("an invalid setting fails the start with one line, before a database is created", async () => {
  const { code, output } = await runToEnd({ FLAGS_ENVIRONMENT: "prod" })
  assert.strictEqual(code, 1, output)
  assert.match(output, /^svc: FLAGS_ENVIRONMENT must be one of dev, staging, production, but it is "prod"\n$/)
})
