import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { uploadsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { maxKeys } from "../../domain/storage/Object.ts"
import { integer, text } from "../../domain/Settings.ts"
import { tryAdvisoryLocks } from "../AdvisoryLock.ts"
import { logFailure } from "../OwnTables.ts"
import { OwnJobs } from "../OwnJobs.ts"
import { ObjectStore } from "../ports/ObjectStore.ts"

const dayMillis = 24 * 3_600_000
/** Concurrent aborts. */
const aborts = 4

/**
 * Days after which open uploads are aborted (S3_UPLOAD_DAYS); 0: never, the default for a store of your own, whose
 * buckets may have uploads of others and rules for them.
 */
export const uploadDays = Effect.flatMap(text("S3_ENDPOINT", undefined), (endpoint) =>
  integer("S3_UPLOAD_DAYS", endpoint === undefined ? 7 : 0, 0, 3650)
)

/** Aborts the uploads of all buckets that were begun so many days ago, and returns their number. Only one replica does so at a time. */
export const abortOldUploads = Effect.fnUntraced(
  function* (days: number) {
    const store = yield* ObjectStore
    if ((yield* tryAdvisoryLocks(yield* SqlClient.SqlClient, [uploadsLock])) === undefined) return 0
    let aborted = 0
    const before = (yield* Clock.currentTimeMillis) - days * dayMillis

    const abortIn = Effect.fnUntraced(function* (bucket: string) {
      let token: string | undefined
      do {
        const page = yield* store.uploads(bucket, { prefix: "", limit: maxKeys, token })
        const old = page.uploads.filter(({ initiated }) => Date.parse(initiated) <= before)
        yield* Effect.forEach(
          old,
          ({ key, uploadId }) =>
            // Completed or aborted by its client in the meantime.
            Effect.catchIf(
              store.abortUpload({ bucket, key, uploadId }),
              ({ code }) => code === "UPLOAD_NOT_FOUND",
              () => Effect.void
            ),
          { concurrency: aborts, discard: true }
        )
        aborted += old.length
        token = page.next_continuation_token ?? undefined
      } while (token !== undefined)
    })

    for (const { name } of yield* store.buckets) {
      yield* Effect.catchCause(abortIn(name), logFailure("Failed to abort old uploads of a bucket"))
    }
    return aborted
  },
  (sweep) => Effect.scoped(sweep)
)

/** The job that aborts old uploads every hour. */
export const layerUploadExpiry = Layer.effectDiscard(
  Effect.gen(function* () {
    const days = yield* uploadDays
    if (days === 0) return
    const context = yield* Effect.context<ObjectStore | SqlClient.SqlClient>()
    yield* (yield* OwnJobs).add({
      name: "storage.uploads",
      summary: `Aborts uploads in parts that are older than ${days} days`,
      times: "21 * * * *",
      timeout: 3_600,
      catchUp: true,
      run: () =>
        abortOldUploads(days).pipe(
          Effect.provideContext(context),
          Effect.map((count) => (count === 0 ? undefined : `${count} uploads aborted`))
        )
    })
  })
)
