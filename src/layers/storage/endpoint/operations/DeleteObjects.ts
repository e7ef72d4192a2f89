import { maxKeys } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { isAllowedFor, mayBeAllowed } from "../Authorization.ts"
import { type Exchange, type S3Operation, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { bodyHeaders, removalHeaders } from "../RequestHeaders.ts"
import { removalCondition } from "../Preconditions.ts"
import { yieldEvery } from "../../../../services/LoopTurn.ts"
import { S3Error, s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { type RemovalTarget, type RemovedVersion, type WriteCondition } from "../store/Model.ts"
import { children, childText, parseXml, type XmlNode } from "../Xml.ts"

interface DeleteFailure extends RemovalTarget {
  readonly code: string
  readonly message: string
}

const parseDelete = (text: string) => {
  const root = parseXml(text, "Delete")
  const objects = children(root, "Object").map((node: XmlNode): RemovalTarget => {
    const key = childText(node, "Key")
    if (key === undefined || key === "") throw s3Error("MalformedXML")
    const version = childText(node, "VersionId")?.trim()
    return { key, version: version === "" ? undefined : version, condition: parseCondition(node) }
  })
  if (objects.length === 0 || objects.length > maxKeys) throw s3Error("MalformedXML")
  return { objects, quiet: childText(root, "Quiet")?.trim().toLowerCase() === "true" }
}

const parseCondition = (node: XmlNode): WriteCondition | undefined => {
  const given = ["ETag", "LastModifiedTime", "Size"].map((name) => childText(node, name)?.trim())
  if (given.every((each) => each === undefined)) return undefined
  const condition = removalCondition(given[0], given[1], given[2])
  if (condition === undefined) throw s3Error("MalformedXML")
  return condition
}

const deletedXml = ({ key, made, marker, version }: Pick<RemovalTarget, "key"> & RemovedVersion) => ({
  Key: key,
  VersionId: made === true ? undefined : version,
  DeleteMarker: marker === true ? true : undefined,
  DeleteMarkerVersionId: marker === true ? version : undefined
})

/** Each key is authorized by itself: the status is 200 even if some fail. */
export const deleteObjects: S3Operation = {
  // Each key is authorized in `run`.
  action: "anyone",
  headers: [...bodyHeaders, ...removalHeaders],
  run: Effect.fnUntraced(function* ({ bucketInfo, caller, payload, request, store }: Exchange) {
    const may = (action: string) => bucketInfo !== undefined && mayBeAllowed({ request, caller }, bucketInfo, action)
    if (bucketInfo === undefined || !(may("s3:DeleteObject") || may("s3:DeleteObjectVersion"))) {
      return yield* s3Error("AccessDenied", "Access Denied")
    }
    const document = yield* readDocument(yield* tryS3(payload))
    const { objects, quiet } = yield* tryS3(() => parseDelete(document))
    const failures: Array<DeleteFailure> = []
    const accepted: Array<RemovalTarget> = []
    const mayDelete = isAllowedFor({ request, caller }, bucketInfo, "s3:DeleteObject")
    const mayDeleteVersion = isAllowedFor({ request, caller }, bucketInfo, "s3:DeleteObjectVersion")
    // A policy may have hundreds of patterns to compare with each key.
    const pause = yield* yieldEvery()
    for (const target of objects) {
      yield* pause
      const { key, version } = target
      if (version === undefined ? mayDelete(key) : mayDeleteVersion(key, version)) accepted.push(target)
      else failures.push({ ...target, code: "AccessDenied", message: "Access Denied" })
    }
    const deleted: Array<Pick<RemovalTarget, "key"> & RemovedVersion> = []
    const results = yield* store.removeEach(request.bucket, accepted)
    for (const [index, target] of accepted.entries()) {
      const result = results[index]
      if (result instanceof S3Error) failures.push({ ...target, code: result.code, message: result.message })
      else deleted.push({ key: target.key, ...result })
    }
    yield* pause
    return xmlReply("DeleteResult", {
      Deleted: quiet ? undefined : deleted.map(deletedXml),
      Error: failures.map(({ code, key, message, version }) => ({
        Key: key,
        VersionId: version,
        Code: code,
        Message: message
      }))
    })
  })
}
