import { assert } from "vitest"
import { type Backup } from "../../../src/domain/backups/Backup.ts"
import { ask } from "../client.ts"
import { type Service, until } from "../service.ts"

type At = Pick<Service, "url" | "service_role">

/** `POST /api/backups`, which must succeed. */
export const backUp = async (at: At, label = "a backup"): Promise<Backup> => {
  const reply = await ask(at, "POST /api/backups", { key: at.service_role, body: { label } })
  assert.strictEqual(reply.status, 201, reply.text)
  return reply.json as Backup
}

export const showBackup = async (at: At, id: number): Promise<Backup> => {
  const reply = await ask(at, `GET /api/backups/${id}`, { key: at.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as Backup
}

/** Waits for the end of a backup. */
export const backupOver = (at: At, id: number): Promise<Backup> =>
  until(
    () => showBackup(at, id),
    ({ status }) => status !== "in_progress",
    40_000
  )
