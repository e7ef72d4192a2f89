import { execFile } from "node:child_process"
import { mkdtemp, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, replyOf, sql, talk } from "../../support/client.ts"
import { writeFiles } from "../../support/migrations/directory.ts"
import { drizzle } from "../../support/migrations/records.ts"
import { root, type Service, startService, until } from "../../support/service.ts"

interface Status {
  readonly tool: string | null
  readonly table: string
  readonly directory: string
  readonly migrations: ReadonlyArray<{ readonly name: string; readonly status: string }>
  readonly summary: Readonly<Record<string, number>>
  readonly notes: ReadonlyArray<string>
  readonly ran?: ReadonlyArray<string>
}

const directories: Array<string> = []
const newDirectory = async (files: Parameters<typeof writeFiles>[1] = {}) => {
  const directory = await mkdtemp(join(tmpdir(), "svc-migrations-"))
  directories.push(directory)
  await writeFiles(directory, files)
  return directory
}

let directory: string
let service: Service

beforeAll(async () => {
  directory = await newDirectory({ "1_notes.sql": "create table mig_notes (id int primary key, text text);" })
  service = await startService({ env: { MIGRATIONS_DIR: directory } })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  for (const each of directories) await rm(each, { recursive: true, force: true })
})

const call = (line: string, at: Pick<Service, "url" | "service_role"> = service) =>
  ask(at, line, { key: at.service_role })
const good = async (line: string, at?: Pick<Service, "url" | "service_role">) => {
  const reply = await call(line, at)
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as Status
}
const status = (at?: Service) => good("GET /api/migrations/idempotent/status", at)
const run = (at?: Service) => good("POST /api/migrations/idempotent/run", at)

describe("/api/migrations", () => {
  it("is for administrators", async () => {
    for (const line of [
      "GET /api/migrations/idempotent/status",
      "POST /api/migrations/idempotent/run",
      "GET /api/migrations/preview/1_notes",
      "POST /api/migrations/baseline",
      "POST /api/migrations/resolve"
    ]) {
      assertRefused(await ask(service, line), 401)
      assertRefused(await ask(service, line, { key: service.anon }), 403)
    }
    assert.deepInclude(await status(), { summary: { applied: 0, pending: 1, modified: 0, orphaned: 0, total: 1 } })
  })

  it("runs the pending files once, and /v1/db serves the tables", async () => {
    const shown = await status()
    assert.deepInclude(shown, { tool: null, table: "svc.applied_migrations", directory, notes: [] })
    assert.deepInclude(shown.migrations[0], { name: "1_notes", status: "pending" })
    assert.deepStrictEqual((await run()).ran, ["1_notes"])
    assert.deepStrictEqual((await call("GET /v1/db/mig_notes")).json, [])
    assert.deepStrictEqual((await run()).ran, [])
    await writeFiles(directory, {
      "2_notes.sql": "alter table mig_notes add column done bool default false; insert into mig_notes (id) values (1)"
    })
    const both = await Promise.all([run(), run()])
    assert.deepStrictEqual(
      both.flatMap(({ ran }) => ran),
      ["2_notes"]
    )
    assert.deepStrictEqual((await call("GET /v1/db/mig_notes")).json, [{ id: 1, text: null, done: false }])
  })

  it("reports the position of an error in a file, and modified files", async () => {
    await writeFiles(directory, { "3_bad.sql": "create table mig_half ();\nselect\n  nope;\n" })
    const body = assertRefused(await call("POST /api/migrations/idempotent/run"), 422, "MIGRATION_FAILED")
    assert.deepInclude(body["details"], {
      migration: "3_bad",
      file: "3_bad.sql",
      line: 3,
      sqlstate: "42703",
      applied: []
    })
    assertRefused(await call("GET /v1/db/mig_half"), 404, "PGRST205")
    await rm(join(directory, "3_bad.sql"))
    await writeFiles(directory, { "1_notes.sql": "select 1" })
    const changed = assertRefused(await call("POST /api/migrations/idempotent/run"), 409, "MIGRATION_MODIFIED")
    assert.deepStrictEqual(changed["details"], ["1_notes"])
    await rm(join(directory, "1_notes.sql"))
    assert.deepStrictEqual(
      (await status()).migrations.map((each) => `${each.name} ${each.status}`),
      ["2_notes applied", "1_notes orphaned"]
    )
    assert.deepStrictEqual((await run()).ran, [])
  })

  it("shows the SQL of a migration", async () => {
    await writeFiles(directory, { "prev ü%.sql": "\uFEFFselect 'ä';\r\n" })
    const reply = await call(`GET /api/migrations/preview/${encodeURIComponent("prev ü%")}`)
    assert.deepStrictEqual(reply.json, { name: "prev ü%", sql: "select 'ä';\r\n" })
    assert.deepInclude((await call("GET /api/migrations/preview/2_notes.sql")).json, { name: "2_notes" })
    await rm(join(directory, "prev ü%.sql"))
    assertRefused(await call("GET /api/migrations/preview/nothing"), 404, "MIGRATION_NOT_FOUND")
    assertRefused(await call("GET /api/migrations/preview/1_notes"), 404, "MIGRATION_NOT_FOUND")
  })

  it("rejects names and links that lead outside the directory", async () => {
    await symlink("/etc/hostname", join(directory, "z_link.sql"))
    assertRefused(await call("GET /api/migrations/preview/z_link"), 422, "MIGRATION_UNREADABLE")
    assertRefused(await call("POST /api/migrations/idempotent/run"), 422, "MIGRATION_UNREADABLE")
    await rm(join(directory, "z_link.sql"))
    const raw = async (name: string) =>
      replyOf(
        await talk(
          service,
          `GET /api/migrations/preview/${name} HTTP/1.1\r\nhost: x\r\napikey: ${service.service_role}\r\nconnection: close\r\n\r\n`
        )
      )
    for (const name of [
      "..",
      "%2e%2e",
      ".%2E",
      "..%2f..%2fetc%2fpasswd",
      "..%5cx",
      "%2fetc%2fpasswd",
      "a%00.sql",
      "%00",
      "%0a",
      "."
    ]) {
      assertRefused(await raw(name), 400)
    }
    for (const name of [
      "../../etc/passwd",
      "..%252f..%252fetc",
      "x/../2_notes",
      "2_notes/",
      "%c0%ae%c0%ae",
      "%ff",
      "%zz",
      "",
      `${"a".repeat(5000)}`,
      "C:x",
      "~root",
      "2_notes%20"
    ]) {
      const reply = await raw(name)
      assert.include([400, 404], reply.status, `${name} ${reply.text}`)
      assertRefused(reply, reply.status)
    }
  })

  it("finishes a run when the client disconnects", async () => {
    await writeFiles(directory, { "4_slow.sql": "create table mig_slow (); select pg_sleep(1)" })
    const leaving = new AbortController()
    const run = ask(service, "POST /api/migrations/idempotent/run", {
      key: service.service_role,
      signal: leaving.signal
    }).catch(() => "gone")
    await sleep(300)
    leaving.abort()
    assert.strictEqual(await run, "gone")
    const after = await until(status, ({ summary }) => summary["pending"] === 0)
    assert.include(
      after.migrations.map((each) => `${each.name} ${each.status}`),
      "4_slow applied"
    )
  })

  it("leaves no partial file when the process is killed", async () => {
    await writeFiles(directory, { "5_killed.sql": "create table mig_killed ();\nselect pg_sleep(30)" })
    void call("POST /api/migrations/idempotent/run").catch(() => undefined)
    await until(
      () =>
        sql(service, "select from pg_stat_activity where query like 'create table mig_killed%' and state = 'active'"),
      (rows) => rows.length > 0
    )
    const { dataDir } = service
    await service.stop("SIGKILL")
    await writeFiles(directory, { "5_killed.sql": "create table mig_killed ()" })
    await using again = await startService({ env: { MIGRATIONS_DIR: directory }, dataDir })
    assert.deepStrictEqual((await run(again)).ran, ["5_killed"])
    assert.strictEqual((await again.stop()).code, 0)
  })
})

it("a Drizzle directory uses Drizzle's history from the first run", async () => {
  const files = await newDirectory(drizzle.files)
  await using service = await startService({ env: { MIGRATIONS_DIR: files } })
  assert.deepInclude(await status(service), { tool: "drizzle", table: "drizzle.__drizzle_migrations" })
  assert.strictEqual((await run(service)).ran?.length, 3)
  assert.deepStrictEqual(await sql(service, "select count(*)::int as n from drizzle.__drizzle_migrations"), [{ n: 3 }])
})

it("a missing directory is not an error", async () => {
  const shared = inject("service")
  const reply = await ask(shared, "GET /api/migrations/idempotent/status", { key: shared.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  assert.deepInclude(reply.json as Status, { directory: "migrations", migrations: [], tool: null })
  assert.match((reply.json as Status).notes.join(), /directory migrations .* does not exist/)
  const ran = await ask(shared, "POST /api/migrations/idempotent/run", { key: shared.service_role })
  assert.deepInclude(ran.json as Status, { ran: [] })
})

describe("svc migrations", () => {
  let dir: string
  let own: Service
  const svc = async (...args: ReadonlyArray<string>) => {
    const env = { PATH: process.env["PATH"] ?? "", SVC_SERVICE_KEY: own.service_role }
    return promisify(execFile)(process.execPath, ["dist/svc.mjs", "migrations", ...args, "--url", own.url], {
      cwd: root,
      env
    }).then(
      ({ stderr, stdout }) => ({ code: 0, stderr, stdout }),
      ({ code, stderr, stdout }: { readonly code: number; readonly stderr: string; readonly stdout: string }) => ({
        code,
        stderr,
        stdout
      })
    )
  }

  beforeAll(async () => {
    dir = await newDirectory({
      "1_have.sql": "create table have_it ()",
      "2_also.sql": "create table have_more ()",
      "3_half.sql": "create table half_it ();\ncommit;\nselect nope;",
      "4_rest.sql": "create table rest_it ()"
    })
    own = await startService({ env: { MIGRATIONS_DIR: dir } })
    await sql(own, "create table have_it ()")
    await sql(own, "create table have_more ()")
  })
  afterAll(() => own[Symbol.asyncDispose]())

  it("shows, marks, runs and resolves", async () => {
    assert.match((await svc("status")).stdout, /^pending {3}1_have\n.*pending {3}4_rest\n0 applied, 4 pending/s)
    assert.match((await svc("baseline", "2_also")).stdout, /^marked {4}1_have\nmarked {4}2_also\npending {3}3_half\n/)
    const failed = await svc("run")
    assert.deepStrictEqual([failed.code, failed.stdout], [1, ""])
    assert.match(
      failed.stderr,
      /responded with 422: 3_half\.sql:3: column "nope" does not exist\. .*first 2 statements stay/
    )
    assert.match((await svc("status")).stdout, /pending {3}3_half: It failed, and its first 2 statements are applied/)
    const resolved = await svc("resolve", "3_half", "applied", "--json")
    assert.deepInclude(JSON.parse(resolved.stdout) as object, { marked: ["3_half"] })
    assert.match((await svc("run")).stdout, /^ran {7}4_rest\n4 applied, 0 pending/)
    const again = await svc("resolve", "3_half", "rolled-back")
    assert.match(again.stderr, /has not failed/)
    const entries = (await call("GET /api/audit?limit=3", own)).json as { entries?: ReadonlyArray<object> }
    assert.include(JSON.stringify(entries), '"resolved":"applied"')
  })
})
