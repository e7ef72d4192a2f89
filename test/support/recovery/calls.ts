import { assert } from "vitest"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { type RecoveryDrill } from "../../../src/domain/recovery/Drill.ts"
import { type RecoveryState } from "../../../src/domain/recovery/Recovery.ts"
import { ask } from "../client.ts"
import { type Service, until } from "../service.ts"

type Archiving = Pick<Service, "url" | "service_role">

export const recoveryState = async (service: Archiving): Promise<RecoveryState> => {
  const { json, status, text } = await ask(service, "GET /api/backups/pitr", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  return json as RecoveryState
}

/** Waits until everything up to now can be restored. */
export const archivedUntilNow = async (service: Archiving) => {
  const now = Date.now()
  const state = await until(
    () => recoveryState(service),
    ({ latest }) => Date.parse(latest ?? "") >= now,
    60_000
  )
  assert.isAtLeast(Date.parse(state.latest ?? ""), now, JSON.stringify(state))
  return state
}

export const restoreTo = async (service: Archiving, time: number): Promise<Branch> => {
  const { json, status, text } = await ask(service, "POST /api/backups/pitr", {
    key: service.service_role,
    body: { target_time: new Date(time).toISOString() }
  })
  assert.strictEqual(status, 201, text)
  return json as Branch
}

/** Waits until the objects of everything up to now are archived. */
export const objectsArchivedUntilNow = async (service: Archiving) => {
  const now = Date.now()
  const state = await until(
    () => recoveryState(service),
    ({ objects }) => Date.parse(objects?.archived_until ?? "") >= now,
    90_000
  )
  assert.isAtLeast(Date.parse(state.objects?.archived_until ?? ""), now, JSON.stringify(state))
}

export const drills = async (service: Archiving): Promise<ReadonlyArray<RecoveryDrill>> => {
  const { json, status, text } = await ask(service, "GET /api/backups/pitr/drills", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  return (json as { readonly drills: ReadonlyArray<RecoveryDrill> }).drills
}

const bucket = "/api/storage/buckets/files"

export const makeFiles = async (service: Archiving) => {
  const reply = await ask(service, "POST /api/storage/buckets", { key: service.service_role, body: { name: "files" } })
  assert.strictEqual(reply.status, 201, reply.text)
}

export const putFile = async (service: Archiving, key: string, content: string) =>
  (
    await ask(service, `POST ${bucket}/objects/upload-text`, {
      key: service.service_role,
      body: { key, content, contentType: "text/plain" }
    })
  ).status

export const removeFile = (service: Archiving, key: string) =>
  ask(service, `DELETE ${bucket}/objects?key=${encodeURIComponent(key)}`, { key: service.service_role })

/** The content of a file; undefined if there is none. */
export const getFile = async (service: Archiving, key: string): Promise<string | undefined> => {
  const { json, status } = await ask(service, `POST ${bucket}/objects/presign-download`, {
    key: service.service_role,
    body: { key }
  })
  if (status !== 200) return undefined
  const reply = await fetch((json as { readonly url: string }).url)
  const text = await reply.text()
  return reply.status === 200 ? text : undefined
}
