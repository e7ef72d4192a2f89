import { afterAll, assert, beforeAll, inject, it, vi } from "vitest"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { backUp, backupOver } from "../../support/backups/calls.ts"
import { asLogin, makeBranch, toDatabase } from "../../support/branches/branches.ts"
import { ask } from "../../support/client.ts"
import { databaseContent } from "../../support/dumps/content.ts"
import { dumpKinds } from "../../support/dumps/kinds.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"
import { startService } from "../../support/service.ts"

vi.setConfig({ testTimeout: 120_000 })

const server = inject("databaseUrl")
const main = `backed "up's" ü ${process.pid}`
const admin = async (url: string, ...statements: ReadonlyArray<string>) => {
  const done = await asLogin(url, ...statements)
  if (typeof done === "string") throw new Error(done)
  return done
}
const loginOf = (database: string): Login => ({ ...(parseLogin(server) as Login), database })

/** Printed by the first start only. */
let key = ""

beforeAll(async () => {
  await admin(server, `create database ${quoteName(main)}`)
  // Installs the service first, so that its event triggers fire for the DDL below.
  await using installed = await startService({ env: { DATABASE_URL: toDatabase(server, main) } })
  await installed.stop()
  key = installed.service_role
  await admin(toDatabase(server, main), everythingSql)
})
afterAll(() => admin(server, `drop database ${quoteName(main)} with (force)`))

it.each(Object.entries(dumpKinds))("a restore by %s equals the database that was backed up", async (_, tools) => {
  await using started = await startService({ env: { DATABASE_URL: toDatabase(server, main), ...tools } })
  const service = { url: started.url, service_role: key }
  const call = (line: string) => ask(service, line, { key })
  const without = ["svc", "svc_ddl"]
  const copy = await makeBranch(service)
  const before = await databaseContent(loginOf(main), without)
  const { id } = await backUp(service)
  const whole = await backupOver(service, id)
  assert.strictEqual(whole.status, "completed", whole.error ?? "")
  const reply = await call(`POST /api/backups/${id}/restore`)
  assert.strictEqual(reply.status, 201, reply.text)
  const restored = reply.json as Branch
  // A restored branch differs from its source only where a copied branch does too.
  const expected = await databaseContent(loginOf(copy.database_name), without)
  assert.deepStrictEqual(await databaseContent(loginOf(restored.database_name), without), expected)
  assert.deepStrictEqual(expected["rows"], before["rows"])
  assert.isAbove(before["rows"]?.length ?? 0, 10)
  for (const branch of [copy, restored]) await call(`DELETE /api/branches/${branch.id}`)
  await call(`DELETE /api/backups/${id}`)
})
