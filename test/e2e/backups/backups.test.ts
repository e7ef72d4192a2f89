import { createHash } from "node:crypto"
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { type Backup } from "../../../src/domain/backups/Backup.ts"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { backUp, backupOver } from "../../support/backups/calls.ts"
import { branchSql, makeBranch } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { register } from "../../support/identity/people.ts"
import { type Service, startService, until } from "../../support/service.ts"

const anonymous = inject("service")

let service: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_BACKUP_BUCKET: "dumps", LOG_LEVEL: "Info" } })
  await call("POST /api/storage/buckets", { name: "dumps" })
  await sql(service, "create table notes (id int generated always as identity primary key, text text)")
  await sql(service, "insert into notes (text) select 'note ' || n from generate_series(1, 50000) n")
  await sql(service, "create table diary (owner uuid references svc.identities on delete cascade, text text)")
  const { id } = await register(service)
  await sql(service, "insert into diary values ($1, 'Dear diary')", [id])
})
afterAll(() => service[Symbol.asyncDispose]())

const call = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(service, line, { key: service.service_role, headers, ...(body === undefined ? {} : { body }) })
/** What is left of people in a copy of the database: their tables, their rows, and references to them. */
const peopleIn = async (branch: number) =>
  branchSql(
    service,
    branch,
    `select (select count(*)::int from pg_class where relname like 'identit%') as tables,
       (select count(*)::int from diary where owner is not null) as diary,
       (select count(*)::int from pg_constraint where contype = 'f') as keys`
  )
const files = async () => (await readdir(join(service.dataDir, "backups"))).sort()
const download = async (id: number, headers: Record<string, string> = {}, method = "GET") => {
  const response = await fetch(`${service.url}/api/backups/${id}/file`, {
    method,
    headers: { apikey: service.service_role, ...headers }
  })
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}

describe("backups over HTTP", () => {
  it("are created, listed, downloaded, restored and deleted", async () => {
    const begun = await backUp(service, "before the change")
    assert.deepInclude(begun, { status: "in_progress", label: "before the change", size_bytes: 0 })
    await sql(service, "insert into notes (text) values ('too late, maybe')")
    const whole = await backupOver(service, begun.id)
    assert.strictEqual(whole.status, "completed", whole.error ?? "")
    assert.strictEqual(whole.format, whole.strategy === "pg_dump" ? "custom" : "plain")
    assert.match(
      service.output(),
      new RegExp(`Backup ${whole.id} started with ${whole.strategy} ${whole.tool_version}`)
    )
    const [file = "", globals] = await files()
    assert.strictEqual(globals, `${file}.globals.sql`)
    const { size } = await stat(join(service.dataDir, "backups", file))
    assert.strictEqual(whole.size_bytes, size)
    assert.deepStrictEqual(
      ((await call("GET /api/backups")).json as Array<Backup>).map(({ id, label, size_bytes, status }) => ({
        id,
        label,
        size_bytes,
        status
      })),
      [{ id: whole.id, label: "before the change", size_bytes: size, status: "completed" }]
    )

    const { response, bytes } = await download(whole.id)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-length"), String(size))
    assert.strictEqual(response.headers.get("content-disposition"), `attachment; filename="${file}"`)
    assert.strictEqual(response.headers.get("accept-ranges"), "bytes")
    assert.strictEqual(bytes.length, size)
    const text = file.endsWith(".zst") ? zstdDecompressSync(bytes) : bytes
    assert.include(text.toString("latin1"), "identity_addresses", "people are in the backup")
    const part = await download(whole.id, { range: "bytes=100-299" })
    assert.strictEqual(part.response.status, 206)
    assert.strictEqual(part.response.headers.get("content-range"), `bytes 100-299/${size}`)
    assert.isTrue(bytes.subarray(100, 300).equals(part.bytes))
    const head = await download(whole.id, {}, "HEAD")
    assert.deepStrictEqual([head.response.status, head.response.headers.get("content-length")], [200, String(size)])
    const refused = await call(`GET /api/backups/${whole.id}/file`, undefined, { range: `bytes=${size}-` })
    assertRefused(refused, 416, "RANGE_NOT_SATISFIABLE")
    assert.strictEqual(refused.headers.get("content-range"), `bytes */${size}`)
    const script = await call(`GET /api/backups/${whole.id}/globals`)
    assert.match(script.headers.get("content-type") ?? "", /^text\/plain/)
    assert.match(script.text, /role/i)

    // The copy in the bucket is the same file.
    const copied = await until(
      () => call(`GET /api/backups/${whole.id}`),
      ({ json }) => (json as Backup).object_key !== null || (json as Backup).copy_error !== null
    )
    const { bucket, copy_error, object_key } = copied.json as Backup
    assert.deepStrictEqual([bucket, copy_error], ["dumps", null])
    const { url } = (await call("POST /api/storage/buckets/dumps/objects/presign-download", { key: object_key }))
      .json as {
      url: string
    }
    const hash = (content: Buffer) => createHash("sha256").update(content).digest("hex")
    assert.strictEqual(hash(Buffer.from(await (await fetch(url)).arrayBuffer())), hash(bytes))

    await sql(service, "drop table notes")
    const made = await call(`POST /api/backups/${whole.id}/restore`)
    assert.strictEqual(made.status, 201, made.text)
    const branch = made.json as Branch
    assert.deepInclude(branch, {
      label: "Restore of before the change",
      status: "active",
      source_backup_id: whole.id,
      ttl_hours: 0
    })
    assert.isAtLeast(
      Number((await branchSql(service, branch.id, "select count(*)::int as n from notes"))[0]?.["n"]),
      50_000
    )
    const rowsOnly = [{ tables: 0, diary: 1, keys: 0 }]
    assert.deepStrictEqual(await peopleIn(branch.id), rowsOnly)
    const copy = await makeBranch(service, "a copy of now")
    assert.deepStrictEqual(await peopleIn(copy.id), rowsOnly)
    assert.strictEqual((await call(`DELETE /api/branches/${copy.id}`)).status, 200)
    const listed = (await call("GET /api/branches")).json as Array<Branch>
    assert.deepStrictEqual(
      listed.map(({ id, source_backup_id }) => ({ id, source_backup_id })),
      [{ id: branch.id, source_backup_id: whole.id }]
    )
    const [restore] = (await backupOver(service, whole.id)).restores
    assert.deepInclude(restore, { branch_id: branch.id, status: "completed", progress: 100, error: null })

    // Asynchronously, and from the bucket, because the local file is deleted.
    await rm(join(service.dataDir, "backups", file))
    const again = await call(
      `POST /api/backups/${whole.id}/restore`,
      { label: "later", ttlHours: 2 },
      { prefer: "respond-async" }
    )
    assert.strictEqual(again.status, 202, again.text)
    assert.strictEqual(again.headers.get("preference-applied"), "respond-async")
    const later = again.json as Branch
    assert.deepInclude(later, { label: "later", ttl_hours: 2, status: "restoring" })
    assert.match(later.connection, /^postgres:\/\/\w+:[\w-]{20,}@/)
    assertRefused(await call(`DELETE /api/backups/${whole.id}`), 409, "BACKUP_IN_USE")
    const active = await until(
      () => call(`GET /api/branches/${later.id}`),
      ({ json, status }) => status !== 200 || (json as Branch).status === "active",
      30_000
    )
    assert.strictEqual((active.json as Branch).status, "active", active.text)
    assert.isAtLeast(
      Number((await branchSql(service, later.id, "select count(*)::int as n from notes"))[0]?.["n"]),
      50_000
    )
    assert.strictEqual((await download(whole.id)).bytes.length, size)
    const done = await until(
      () => call(`DELETE /api/backups/${whole.id}`),
      ({ status }) => status !== 409
    )
    assert.deepStrictEqual(done.json, { success: true })
    assert.deepStrictEqual(await files(), [])
    assert.strictEqual((await fetch(url)).status, 404)
    assertRefused(await call(`GET /api/backups/${whole.id}`), 404, "BACKUP_NOT_FOUND")
  })

  it("report errors", async () => {
    for (const body of [{}, { label: "" }, { label: "x".repeat(101) }, { label: 1 }, { label: "a\0b" }, "no json"]) {
      assertRefused(await call("POST /api/backups", body), 400)
    }
    for (const id of ["x", "1.5"]) assertRefused(await call(`GET /api/backups/${id}`), 400)
    for (const id of ["0", "-1", "2147483648"]) {
      for (const line of [`GET /api/backups/${id}`, `DELETE /api/backups/${id}`, `POST /api/backups/${id}/restore`]) {
        assertRefused(await call(line), 404, "BACKUP_NOT_FOUND")
      }
    }
    for (const line of [
      "GET /api/backups/999999",
      "DELETE /api/backups/999999",
      "POST /api/backups/999999/cancel",
      "GET /api/backups/999999/file",
      "GET /api/backups/999999/globals",
      "POST /api/backups/999999/restore"
    ]) {
      assertRefused(await call(line), 404, "BACKUP_NOT_FOUND")
    }
    assertRefused(await call("POST /api/backups/1/restore", { label: "x".repeat(61) }), 400)
    assertRefused(await call("POST /api/backups/1/restore", { ttlHours: -1 }), 400)
    assert.deepStrictEqual((await call("GET /api/backups")).json, [])
    const key = service.anon
    for (const line of ["GET /api/backups", "POST /api/backups", "GET /api/backups/1/file"]) {
      assertRefused(await ask(service, line, { key }), 403)
      assertRefused(await ask(anonymous, line), 401)
    }
  })

  it("reject a point in time if WAL archiving is not configured", async () => {
    const label = "x"
    const target_time = "2026-11-21T12:00:00Z"
    const refused = await call("POST /api/backups/pitr", { label, target_time })
    assert.match(String(assertRefused(refused, 501, "PITR_NOT_CONFIGURED")["hint"]), /docs\/recovery\.md/)
    assertRefused(await call("POST /api/backups/pitr", { target_time }), 501, "PITR_NOT_CONFIGURED")
    assertRefused(await call("GET /api/backups/pitr"), 501, "PITR_NOT_CONFIGURED")
    assertRefused(await call(`GET /api/backups/pitr/changes?since=${target_time}`), 501, "PITR_NOT_CONFIGURED")
    assertRefused(await call("GET /api/backups/pitr/changes?since=yesterday"), 400)
    for (const path of ["key", "key/confirm"]) {
      const reply = await call(`POST /api/backups/pitr/${path}`, { recovery_key: "x" })
      assertRefused(reply, 501, "PITR_NOT_CONFIGURED")
    }
    for (const body of [{}, { label }, { label, target_time: "yesterday" }, { label: "", target_time }]) {
      assertRefused(await call("POST /api/backups/pitr", body), 400)
    }
  })
})
