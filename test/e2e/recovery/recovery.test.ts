import { existsSync } from "node:fs"
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import {
  archivedUntilNow,
  drills,
  getFile,
  makeFiles,
  objectsArchivedUntilNow,
  putFile,
  recoveryState,
  removeFile,
  restoreTo
} from "../../support/recovery/calls.ts"
import { postmasterOf, runToEnd, type Service, startService, until } from "../../support/service.ts"

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let dataDir: string
let archive: string
let service: Service
const pause = (millis: number) => new Promise((done) => setTimeout(done, millis))
const start = () => startService({ dataDir, env: { SVC_PITR: "true", SVC_PITR_DIR: archive, SVC_PITR_DRILL: "false" } })
const post = (path: string, body?: object) =>
  ask(service, `POST /api/backups/pitr${path}`, { key: service.service_role, ...(body && { body }) })
const numbers = async (branch?: number) => {
  const headers = branch === undefined ? {} : { "x-svc-branch": String(branch) }
  const { json, status, text } = await ask(service, "POST /v1/sql", {
    key: service.service_role,
    body: { sql: "select coalesce(array_agg(n order by n), '{}') as all from public.written" },
    headers
  })
  assert.strictEqual(status, 200, text)
  return (json as { rows: ReadonlyArray<{ all: ReadonlyArray<number> }> }).rows[0]?.all
}
const write = (n: number) => sql(service, "insert into public.written values ($1)", [n])

beforeAll(async () => {
  archive = await makeDataDir()
  await rm(archive, { recursive: true })
  service = await startService({ env: { SVC_PITR: "true", SVC_PITR_DIR: archive, SVC_PITR_DRILL: "false" } })
  dataDir = service.dataDir
  await sql(service, "create table public.written (n int primary key)")
  await until(
    () => recoveryState(service),
    ({ latest }) => latest !== null,
    60_000
  )
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await removeDataDir(dataDir)
  await removeDataDir(archive)
})

describe("point-in-time recovery", () => {
  it("restores each state of the database into a branch, while it goes on", async () => {
    await write(1)
    await write(2)
    await pause(20)
    const two = Date.now()
    await pause(20)
    await sql(service, "delete from public.written where n = 1")
    await pause(20)
    const one = Date.now()
    await pause(20)
    await sql(service, "drop table public.written")
    await sql(service, "create table public.written (n int primary key)")
    const state = await archivedUntilNow(service)
    assert.isTrue(state.archiving)
    assert.isNull(state.problem)
    assert.strictEqual(state.place, archive)
    assert.strictEqual(state.spans.length, 1)
    assert.isAbove(state.base_backups[0]?.size_bytes ?? 0, state.base_backups[0]?.stored_bytes ?? 0)
    assert.deepStrictEqual(await numbers((await restoreTo(service, two)).id), [1, 2])
    assert.deepStrictEqual(await numbers((await restoreTo(service, one)).id), [2])
    assert.deepStrictEqual(await numbers(), [])
    assert.deepStrictEqual(await readdir(join(dataDir, "recovery")), [])
    assert.deepStrictEqual(await readdir(join(dataDir, "backups")), [])
  })

  it("answers at once for Prefer: respond-async, and takes the options of a branch", async () => {
    const time = Date.parse((await archivedUntilNow(service)).latest ?? "")
    const { json, status } = await ask(service, "POST /api/backups/pitr", {
      key: service.service_role,
      headers: { prefer: "respond-async" },
      body: { target_time: new Date(time).toISOString(), label: "then", ttlHours: 2, access: "clients" }
    })
    assert.strictEqual(status, 202)
    assert.include(json as object, { label: "then", ttl_hours: 2, access: "clients", status: "restoring" })
    const { id } = json as { id: number }
    const shown = await until(
      () => ask(service, `GET /api/branches/${id}`, { key: service.service_role }),
      ({ json }) => (json as { status: string }).status === "active",
      60_000
    )
    assert.include(shown.json as object, { status: "active", source_backup_id: null })
  })

  it("refuses times outside of the archive with both ends, and invalid ones", async () => {
    for (const target_time of ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00"]) {
      const reply = await post("", { target_time })
      assertRefused(reply, 422, "TARGET_TIME_OUTSIDE")
      assert.match(reply.text, /from 20\d\d-[^ ]+Z to 20\d\d-[^ ]+Z/)
    }
    for (const body of [
      {},
      { target_time: "yesterday" },
      { target_time: null },
      { target_time: "2026-06-31T00:00:00Z" }
    ]) {
      assertRefused(await post("", body), 400)
    }
    assert.strictEqual((await ask(service, "GET /api/backups/pitr", { key: service.anon })).status, 403)
  })

  it("has a recovery key, which is proved to be kept", async () => {
    assert.deepStrictEqual((await recoveryState(service)).recovery_key, { made: false, kept_at: null })
    const first = (await post("/key")).json as { recovery_key: string }
    const made = await post("/key")
    assert.strictEqual(made.status, 201)
    const { recovery_key } = made.json as { recovery_key: string }
    assert.match(recovery_key, /^([A-Z2-7]{4}-){13}[A-Z2-7]{4}$/)
    assertRefused(await post("/key/confirm", first), 422, "RECOVERY_KEY_WRONG")
    assertRefused(await post("/key/confirm", { recovery_key: `${recovery_key}A` }), 422, "RECOVERY_KEY_WRONG")
    assert.deepStrictEqual((await recoveryState(service)).recovery_key, { made: true, kept_at: null })
    const shown = recovery_key.toLowerCase().replaceAll("-", " ")
    assert.strictEqual((await post("/key/confirm", { recovery_key: shown })).status, 200)
    assert.isNotNull((await recoveryState(service)).recovery_key.kept_at)
    for (const name of await readdir(archive, { recursive: true, withFileTypes: true })) {
      if (!name.isFile()) continue
      const content = await readFile(join(name.parentPath, name.name), "latin1")
      assert.notInclude(content, recovery_key)
      assert.notInclude(content, service.jwtSecret)
    }
  })

  it("proves by a drill that the archive can be restored, one at a time, and shows one that was interrupted", async () => {
    assert.deepStrictEqual(await drills(service), [])
    const started = await post("/drills")
    assert.strictEqual(started.status, 202, started.text)
    assert.include(started.json as object, { status: "running", finished_at: null, error: null, tables: null })
    assertRefused(await post("/drills"), 409, "DRILL_RUNNING")
    const ended = () =>
      until(
        () => drills(service),
        ([last]) => last?.status !== "running",
        120_000
      )
    const [passed] = await ended()
    assert.include(passed, { status: "passed", error: null, id: (started.json as { id: number }).id })
    assert.isAbove(passed?.tables ?? 0, 10)
    assert.isAbove(passed?.rows ?? 0, 0)
    assert.deepStrictEqual(await readdir(join(dataDir, "recovery")), [])
    const { json } = await ask(service, "GET /readyz")
    assert.include(json as object, { recovery_drill: "ok" })

    assert.strictEqual((await post("/drills")).status, 202)
    await service.stop("SIGKILL")
    service = await start()
    const [interrupted] = await ended()
    assert.include(interrupted, { status: "failed", error: "The service ended during the drill" })
  })

  it("goes on without a hole after the service and PostgreSQL were killed", async () => {
    await write(10)
    const before = Date.now()
    const postmaster = await postmasterOf(service)
    await service.stop("SIGKILL")
    process.kill(postmaster, "SIGKILL")
    service = await start()
    await write(11)
    const { spans } = await archivedUntilNow(service)
    assert.strictEqual(spans.length, 1)
    assert.deepStrictEqual(await numbers((await restoreTo(service, before)).id), [10])
  })

  it("makes a base backup by itself after log was lost, and says which times are missing", async () => {
    await service.stop()
    const lost = Date.now()
    service = await startService({ dataDir })
    await sql(
      service,
      "select from pg_replication_slots, pg_drop_replication_slot(slot_name) where slot_name like 'svc\\_archive%'"
    )
    await sql(service, "select pg_switch_wal()")
    await sql(service, "checkpoint")
    await write(12)
    await sql(service, "select pg_switch_wal()")
    await sql(service, "checkpoint")
    await service.stop()
    service = await start()
    const { base_backups, spans } = await until(
      () => recoveryState(service),
      ({ spans }) => spans.length === 2,
      90_000
    )
    assert.strictEqual(spans.length, 2)
    assert.strictEqual(base_backups.length, 2)
    const hole = Date.parse(spans[0]?.to ?? "") + 1
    assert.isAbove(hole, lost - 2000)
    const refused = await post("", { target_time: new Date(hole).toISOString() })
    assertRefused(refused, 422, "TARGET_TIME_OUTSIDE")
    assert.include(refused.text, "Log is missing around it")
  })

  it("makes a lost installation again from the archive and the recovery key", async () => {
    const { recovery_key } = (await post("/key")).json as { recovery_key: string }
    await write(20)
    await makeFiles(service)
    const large = "0123456789abcdef".repeat(20_000)
    for (const [key, content] of [
      ["small", "first"],
      ["large", large],
      ["gone", "x"]
    ] as const) {
      assert.strictEqual(await putFile(service, key, content), 201)
    }
    await pause(20)
    const before = Date.now()
    await pause(20)
    await sql(service, "delete from public.written")
    await putFile(service, "small", "second")
    await removeFile(service, "gone")
    await putFile(service, "later", "x")
    await archivedUntilNow(service)
    await objectsArchivedUntilNow(service)
    const secrets = await readFile(join(dataDir, "secrets.json"), "utf8")
    const keys = { anon: service.anon, service_role: service.service_role }
    await service.stop("SIGKILL")
    process.kill(await postmasterOf(service), "SIGKILL")
    const lost = `${dataDir}.lost`
    await rename(dataDir, lost)
    const recover = (env: object, ...args: ReadonlyArray<string>) =>
      runToEnd({ SVC_DATA_DIR: dataDir, SVC_PITR_DIR: archive, SVC_RECOVERY_KEY: recovery_key, ...env }, [
        "dist/svc.mjs",
        "recover",
        ...args
      ])
    try {
      for (const [env, args, message] of [
        [{ SVC_RECOVERY_KEY: "AAAA" }, [], "is no recovery key"],
        [{ SVC_RECOVERY_KEY: "" }, [], "SVC_RECOVERY_KEY is not set"],
        [{ SVC_PITR_DIR: `${archive}.other` }, [], "There is no archive in"],
        [{}, ["--at", "2001-01-01T00:00:00Z"], "does not have 2001-01-01"],
        [{}, ["--at", "noon"], "--at must be an ISO 8601 time with a time zone"],
        [{}, ["--to", "x"], "Usage: svc recover"]
      ] as const) {
        const { code, output } = await recover(env, ...args)
        assert.notStrictEqual(code, 0, output)
        assert.include(output, message)
        assert.isFalse(existsSync(join(dataDir, "postgres")) || existsSync(join(dataDir, "secrets.json")))
      }
      const { code, output } = await recover({}, "--at", new Date(before).toISOString())
      assert.strictEqual(code, 0, output)
      const again = await recover({})
      assert.strictEqual(again.code, 1)
      assert.include(again.output, "only recovered into an empty SVC_DATA_DIR")
      const { encryption_key } = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<
        string,
        string
      >
      assert.strictEqual(encryption_key, (JSON.parse(secrets) as Record<string, string>)["encryption_key"])
      service = await start()
      assert.strictEqual(service.service_role, keys.service_role)
      assert.deepStrictEqual(await numbers(), [10, 11, 12, 20])
      const files = await Promise.all(["small", "large", "gone", "later"].map((key) => getFile(service, key)))
      assert.deepStrictEqual(files, ["first", large, "x", undefined])
      // It is archived on a timeline of its own, and what was before can still be restored.
      await write(21)
      await archivedUntilNow(service)
      assert.deepStrictEqual(await numbers((await restoreTo(service, before)).id), [10, 11, 12, 20])
    } finally {
      await removeDataDir(lost)
    }
  })

  it("refuses the archive of another cluster, one of another installation, and a place with other files", async () => {
    const elsewhere = await makeDataDir()
    await using other = await startService({
      dataDir: elsewhere,
      env: { SVC_PITR: "true", SVC_PITR_DIR: archive, SVC_PITR_DRILL: "false" }
    })
    const { text } = await until(
      () => ask(other, "GET /api/backups/pitr", { key: other.service_role }),
      ({ status }) => status === 503
    )
    assert.include(text, "belongs to another installation")
    const place = await makeDataDir()
    try {
      await writeFile(join(place, "notes.txt"), "mine")
      await using third = await startService({ env: { SVC_PITR: "true", SVC_PITR_DIR: place } })
      const reply = await until(
        () => ask(third, "GET /api/backups/pitr", { key: third.service_role }),
        ({ status }) => status === 503
      )
      assertRefused(reply, 503, "PITR_ARCHIVE_UNUSABLE")
      assert.include(reply.text, "an archive needs a place of its own")
      assert.deepStrictEqual(await readdir(place), ["notes.txt"])
    } finally {
      await removeDataDir(place)
    }
  })
})
