import { execFile } from "node:child_process"
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, it, vi } from "vitest"
import { backUp, backupOver } from "../../support/backups/calls.ts"
import { ask, sql } from "../../support/client.ts"
import { removeDataDir } from "../../support/dataDir.ts"
import { root, startService } from "../../support/service.ts"

vi.setConfig({ testTimeout: 180_000 })

const places: Array<string> = []
afterAll(async () => {
  for (const place of places) {
    await removeDataDir(join(place, ".svc"))
    await rm(place, { recursive: true, force: true })
  }
})

/** The commands of docs/backups.md that load a dump into a new embedded installation, without the last, which starts it. */
const documented = async () => {
  const page = await readFile(join(root, "docs/backups.md"), "utf8")
  const block = /```sh\n(mkdir[^`]*npm start\n)```/.exec(page)?.[1] ?? ""
  assert.match(block, /npm start\n$/, "the commands are not where this test looks for them")
  return block.replace(/npm start\n$/, "")
}

it("a backup is loaded into a new embedded installation by the documented commands", async () => {
  const key = "documented-recovery-of-an-installation"
  const env = { PG_BIN_DIR: "/nonexistent", PATH: join(root, "node_modules/.bin") }
  await using first = await startService({ env: { ...env, SVC_JWT_SECRET: "" } })
  await sql(first, "create table kept (id int primary key, what text)")
  await sql(first, "insert into kept values (1, 'ä 日本')")
  const connection = { name: key, connection_url: "postgres://me:pw@db.example.com/app" }
  const saved = await ask(first, "POST /api/connections", { key: first.service_role, body: connection })
  assert.strictEqual(saved.status, 201, saved.text)
  const { id } = await backUp(first)
  const backup = await backupOver(first, id)
  assert.strictEqual(backup.status, "completed", backup.error ?? "")
  await first.stop()

  const place = await mkdtemp(join(tmpdir(), "svc-recovery-"))
  places.push(place)
  await mkdir(join(place, "kept"))
  await promisify(execFile)("chmod", ["711", place])
  await copyFile(join(first.dataDir, "secrets.json"), join(place, "kept", "secrets.json"))
  const backups = join(first.dataDir, "backups")
  const files = await readdir(backups)
  const dump = files.find((name) => name.endsWith(".sql.zst")) ?? ""
  for (const name of files) await cp(join(backups, name), join(place, name))
  // The page's directory is the checkout.
  for (const name of ["package.json", "node_modules", "src", "dist", "scripts"])
    await symlink(join(root, name), join(place, name))
  const commands = (await documented()).replaceAll(
    /20261121T030000Z-…(?=\.(globals|sql))/g,
    dump.replace(/\.sql\.zst$/, "")
  )
  const script = commands.replaceAll(`${dump.replace(/\.sql\.zst$/, "")}.globals.sql`, `${dump}.globals.sql`)
  await promisify(execFile)("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd: place,
    env: { PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`, HOME: place }
  })

  await using second = await startService({ dataDir: join(place, ".svc"), env: { SVC_JWT_SECRET: "" } })
  const service = { url: second.url, service_role: first.service_role }
  assert.deepStrictEqual((await ask(service, "GET /v1/db/kept", { key: first.service_role })).json, [
    { id: 1, what: "ä 日本" }
  ])
  const [shown] = (await ask(service, "GET /api/connections", { key: first.service_role })).json as ReadonlyArray<
    Record<string, unknown>
  >
  assert.deepInclude(shown, { connection_url: "postgres://me:****@db.example.com/app", error: null, old_key: false })
  await second.stop()
})
