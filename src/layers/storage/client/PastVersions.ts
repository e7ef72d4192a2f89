import { ListObjectVersionsCommand, type ListObjectVersionsCommandOutput, type ObjectVersion } from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type ObjectReads, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { decodedKey, failWith, type S3 } from "./Client.ts"
import { S3Failure } from "./Errors.ts"

/** Requests of one page of a listing, which ends early after them: most versions may be newer than the moment. */
const maxRequests = 50

/** Sorts after all keys with a prefix, which it follows. */
const last = "\u{10ffff}"

const noSuchKey = new S3Failure({ code: "NoSuchKey", status: 404, message: "" })
const invalidToken = new S3Failure({ code: "InvalidArgument", status: 400, message: "" })

interface Markers {
  readonly KeyMarker: string
  readonly VersionIdMarker?: string | undefined
}

/** A version or a delete marker, with its decoded key. */
interface Version extends ObjectVersion {
  readonly key: string
  readonly isMarker: boolean
}

const timeOf = ({ LastModified }: Version) => LastModified?.getTime() ?? 0

/** The versions of a page by key, the newest first; the SDK returns delete markers apart from them. */
const byKey = ({ DeleteMarkers = [], EncodingType, Versions = [] }: ListObjectVersionsCommandOutput) => {
  const all: ReadonlyArray<Version> = [
    ...Versions.map((each) => ({ ...each, isMarker: false, key: decodedKey(each.Key, EncodingType) })),
    ...DeleteMarkers.map((each) => ({ ...each, isMarker: true, key: decodedKey(each.Key, EncodingType) }))
  ]
  const newestFirst = (a: Version, b: Version) =>
    Number(b.IsLatest ?? false) - Number(a.IsLatest ?? false) || timeOf(b) - timeOf(a)
  return [...Map.groupBy(all, ({ key }) => key)]
    .map(([key, versions]) => ({ key, versions: versions.toSorted(newestFirst) }))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
}

const tokenOf = (after: string) => Buffer.from(after).toString("base64url")

const placeOf = (token: string) => {
  const after = Buffer.from(token, "base64url").toString("utf8")
  return tokenOf(after) === token ? Effect.succeed(after) : failWith(invalidToken, {})
}

/** The versions that were the objects of a bucket at a moment. Stores keep their times in seconds. */
export const makePastVersions = ({ call }: S3, moment: Date) => {
  const request = (bucket: string, prefix: string, markers: Markers | undefined) =>
    call({ bucket }, (s3, options) =>
      s3.send(
        new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix, EncodingType: "url", ...markers }),
        options
      )
    )

  const markersOf = (page: ListObjectVersionsCommandOutput): Markers | undefined =>
    page.IsTruncated === true
      ? { KeyMarker: decodedKey(page.NextKeyMarker, page.EncodingType), VersionIdMarker: page.NextVersionIdMarker }
      : undefined

  /** The one that the key had, among versions from the newest on. */
  const shown = (versions: ReadonlyArray<Version>) => versions.find((each) => timeOf(each) <= moment.getTime())

  /** The version's id. Fails with OBJECT_NOT_FOUND. */
  const find = Effect.fnUntraced(function* (bucket: string, key: string): Effect.fn.Return<string, StoreError> {
    let markers: Markers | undefined
    do {
      const page: ListObjectVersionsCommandOutput = yield* request(bucket, key, markers)
      const found = shown(byKey(page).find((each) => each.key === key)?.versions ?? [])
      if (found?.isMarker === false && found.VersionId !== undefined) return found.VersionId
      markers = found === undefined ? markersOf(page) : undefined
      // Longer keys with this prefix come after all versions of the key itself.
    } while (markers?.KeyMarker === key)
    return yield* failWith(noSuchKey, { bucket, key })
  })

  const list: ObjectReads["list"] = Effect.fnUntraced(function* (bucket, { delimiter, limit, prefix, token }) {
    const after = token === undefined ? undefined : yield* placeOf(token)
    const groupOf = (key: string) => {
      const at = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length)
      return delimiter === undefined || at < 0 ? undefined : key.slice(0, at + delimiter.length)
    }
    const found: Array<{ readonly name: string; readonly object: Version | undefined }> = []
    let markers: Markers | undefined =
      after === undefined ? undefined : { KeyMarker: groupOf(after) === after ? after + last : after }
    // The last key or group that needs no further request.
    let done = after
    let group: string | undefined
    let more = true
    for (let requests = 0; more && found.length <= limit && (requests < maxRequests || done === after); requests++) {
      const page: ListObjectVersionsCommandOutput = yield* request(bucket, prefix, markers)
      markers = markersOf(page)
      more = markers !== undefined
      for (const { key, versions } of byKey(page)) {
        // Known from the page before, or by another key of its group.
        if (key === done || (group !== undefined && key.startsWith(group))) continue
        const version = shown(versions)
        if (version === undefined && markers?.KeyMarker === key) continue
        done = key
        if (version === undefined || version.isMarker) continue
        group = groupOf(key)
        done = group ?? key
        found.push({ name: done, object: group === undefined ? version : undefined })
        if (found.length > limit) break
      }
      if (group !== undefined && markers?.KeyMarker.startsWith(group) === true) markers = { KeyMarker: group + last }
    }
    const given = found.slice(0, limit)
    const truncated = more || found.length > limit
    const next = found.length > limit ? given.at(-1)?.name : done
    return {
      objects: given.flatMap(({ name, object }) =>
        object === undefined
          ? []
          : {
              key: name,
              size: object.Size ?? 0,
              last_modified: new Date(timeOf(object)).toISOString(),
              etag: object.ETag ?? ""
            }
      ),
      ...(delimiter === undefined
        ? {}
        : { common_prefixes: given.flatMap(({ name, object }) => (object === undefined ? [name] : [])) }),
      is_truncated: truncated,
      next_continuation_token: truncated && next !== undefined ? tokenOf(next) : null
    }
  })

  return { find, list }
}
