import { Clock, Effect, Schedule } from "effect"
import { maxKeys } from "../../../../domain/storage/Object.ts"
import { tryS3 } from "../Request.ts"
import {
  type Listing,
  type LocalStore,
  type UploadListing,
  type VersionInfo,
  type VersionListing
} from "../store/Model.ts"
import {
  isAbandoned,
  isExpired,
  isMarkerDue,
  isVersionDue,
  parseLifecycle,
  prefixesOf,
  type LifecycleRule
} from "./Rules.ts"

/** Objects that one transaction of the index deletes. */
const batch = 200

/**
 * Deletes objects and uploads that are due by the lifecycle rules of all buckets. An object that is replaced meanwhile
 * stays.
 */
export const expireDue = Effect.fnUntraced(function* (store: LocalStore) {
  for (const { bucket, text } of yield* store.lifecycles) {
    yield* Effect.gen(function* () {
      const { rules } = yield* tryS3(() => parseLifecycle(text))
      const objects = yield* expireObjects(store, bucket, rules)
      const versions = yield* expireVersions(store, bucket, rules)
      const uploads = yield* abortUploads(store, bucket, rules)
      if (objects + versions + uploads > 0) {
        yield* Effect.logInfo(
          `Lifecycle of ${bucket}: ${objects} objects and ${versions} older versions deleted, ${uploads} uploads aborted`
        )
      }
    }).pipe(Effect.catchCause((cause) => Effect.logWarning(`Failed to apply the lifecycle of ${bucket}`, cause)))
  }
})

const expireObjects = Effect.fnUntraced(function* (
  store: LocalStore,
  bucket: string,
  rules: ReadonlyArray<LifecycleRule>
) {
  const now = yield* Clock.currentTimeMillis
  let count = 0
  for (const prefix of prefixesOf(rules, "expiration")) {
    let after: string | undefined = ""
    while (after !== undefined) {
      const page: Listing = yield* store.list(bucket, { prefix, delimiter: "", after, limit: maxKeys })
      const due = page.objects.filter((object) => isExpired(rules, object, now))
      for (let at = 0; at < due.length; at += batch) count += yield* store.expire(bucket, due.slice(at, at + batch))
      after = page.next
    }
  }
  return count
})

/** Deletes older versions that are due, and then delete markers that are the only version of their key. */
const expireVersions = Effect.fnUntraced(function* (
  store: LocalStore,
  bucket: string,
  rules: ReadonlyArray<LifecycleRule>
) {
  if ((yield* store.bucket(bucket)).versioning === undefined) return 0
  const now = yield* Clock.currentTimeMillis
  let count = 0
  const due: Array<VersionInfo> = []
  const flush = Effect.gen(function* () {
    while (due.length > 0) count += yield* store.expireVersions(bucket, due.splice(0, batch))
  })
  for (const prefix of prefixesOf(rules, "versions")) {
    let markers: VersionListing["next"] = { keyMarker: "", versionIdMarker: "" }
    let [key, older]: [string | undefined, number] = [undefined, 0]
    while (markers !== undefined) {
      const page: VersionListing = yield* store.versions(bucket, { prefix, delimiter: "", limit: maxKeys, ...markers })
      for (const version of page.versions) {
        // A page may begin with the latest version again, if the one before it ended with a version that was deleted.
        if (version.key !== key || version.isLatest) [key, older] = [version.key, 0]
        const outdated = version.isLatest
          ? version.isMarker && isMarkerDue(rules, version, now)
          : isVersionDue(rules, version, older++, now)
        // Those of a key are deleted from the oldest on, so that a marker is the only version by its turn.
        if (outdated) due.unshift(version)
      }
      yield* flush
      markers = page.next
    }
  }
  return count
})

const abortUploads = Effect.fnUntraced(function* (
  store: LocalStore,
  bucket: string,
  rules: ReadonlyArray<LifecycleRule>
) {
  const now = yield* Clock.currentTimeMillis
  let count = 0
  for (const prefix of prefixesOf(rules, "abortion")) {
    let markers: { readonly keyMarker: string; readonly uploadIdMarker: string } | undefined = {
      keyMarker: "",
      uploadIdMarker: ""
    }
    while (markers !== undefined) {
      const page: UploadListing = yield* store.uploads(bucket, { prefix, delimiter: "", limit: maxKeys, ...markers })
      for (const upload of page.uploads) {
        if (!isAbandoned(rules, upload, now)) continue
        const aborted = store.abortUpload(bucket, upload.key, upload.uploadId)
        // Its client may have completed it in the meantime.
        yield* Effect.catchIf(
          aborted,
          ({ code }) => code === "NoSuchUpload",
          () => Effect.void
        )
        count += 1
      }
      markers = page.next
    }
  }
  return count
})

/** Applies the lifecycle rules a minute after the start and every hour, until the scope closes. */
export const applyLifecycles = (store: LocalStore) =>
  expireDue(store).pipe(
    Effect.catchCause((cause) => Effect.logWarning("Failed to apply lifecycle rules", cause)),
    Effect.repeat(Schedule.spaced("1 hour")),
    Effect.delay("1 minute"),
    Effect.forkScoped
  )
