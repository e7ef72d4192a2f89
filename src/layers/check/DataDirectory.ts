import { Effect } from "effect"
import { access, constants, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { secret, text } from "../../domain/Settings.ts"
import { checkNotLost, checkSecrets } from "../process/DataParts.ts"
import { readStored } from "../process/StoredFile.ts"
import { refuseUnfinished } from "../process/UnfinishedImport.ts"
import { type Checked, faulty, type CheckFinding, reasonFor } from "./Finding.ts"

const part = "Data directory"

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false
  )

/** The directory, or the nearest one above that exists, in which it would be created. */
const nearest = async (path: string): Promise<string> =>
  (await exists(path)) || dirname(path) === path ? path : nearest(dirname(path))

const writable = (path: string) =>
  Effect.promise(async () => {
    const place = await nearest(path)
    return await access(place, constants.W_OK | constants.X_OK).then(
      () => [],
      () => [
        faulty(
          part,
          `${path} (SVC_DATA_DIR) can't be ${place === path ? "written" : `created in ${place}`}: permission denied`
        )
      ]
    )
  })

/** What would stop a start on SVC_DATA_DIR. Nothing is created or changed. */
export const checkDataDirectory = Effect.gen(function* () {
  const path = resolve(yield* text("SVC_DATA_DIR", ".svc"))
  const found: Array<CheckFinding> = [...(yield* writable(path))]
  const checked: Checked = { part, at: path, findings: found }
  if (!(yield* Effect.promise(() => exists(path)))) return checked
  const embedded = (yield* secret("DATABASE_URL")) === undefined
  const ownStore = (yield* text("S3_ENDPOINT", undefined)) === undefined
  const file = join(path, "secrets.json")
  const checks = [
    refuseUnfinished(path),
    ...(embedded || ownStore
      ? [Effect.flatMap(readStored<Record<string, string>>(file), (secrets) => checkSecrets(path, file, secrets))]
      : []),
    ...(embedded ? [checkNotLost(path, "postgres")] : []),
    ...(ownStore ? [checkNotLost(path, "objects")] : [])
  ]
  for (const check of checks) {
    yield* Effect.catchCause(check, (cause) => Effect.sync(() => void found.push(faulty(part, reasonFor(cause)))))
  }
  return checked
})
