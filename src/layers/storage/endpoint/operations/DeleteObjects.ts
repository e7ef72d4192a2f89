import { maxKeys } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { isAllowedFor, mayBeAllowed } from "../Authorization.ts"
import { type Exchange, type S3Operation, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { bodyHeaders, removalHeaders } from "../RequestHeaders.ts"
import { removalCondition } from "../Preconditions.ts"
import { yieldEvery } from "../../../../services/LoopTurn.ts"
import { s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { type WriteCondition } from "../store/Model.ts"
import { children, childText, parseXml, type XmlNode } from "../Xml.ts"

interface DeleteTarget {
  readonly key: string
  readonly version: string | undefined
  /** Undefined: whatever the object is. */
  readonly condition: WriteCondition | undefined
}

interface DeleteFailure extends DeleteTarget {
  readonly code: string
  readonly message: string
}

const parseDelete = (text: string) => {
  const root = parseXml(text, "Delete")
  const objects = children(root, "Object").map((node: XmlNode): DeleteTarget => {
    const key = childText(node, "Key")
    if (key === undefined || key === "") throw s3Error("MalformedXML")
    return { key, version: childText(node, "VersionId")?.trim(), condition: parseCondition(node) }
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

/** Each key is authorized by itself: the status is 200 even if some fail. */
export const deleteObjects: S3Operation = {
  // Each key is authorized in `run`.
  action: "anyone",
  headers: [...bodyHeaders, ...removalHeaders],
  run: Effect.fnUntraced(function* ({ bucketInfo, caller, payload, request, store }: Exchange) {
    if (bucketInfo === undefined || !mayBeAllowed({ request, caller }, bucketInfo, "s3:DeleteObject")) {
      return yield* s3Error("AccessDenied", "Access Denied")
    }
    const document = yield* readDocument(yield* tryS3(payload))
    const { objects, quiet } = yield* tryS3(() => parseDelete(document))
    const failures: Array<DeleteFailure> = []
    const accepted: Array<DeleteTarget> = []
    const mayDelete = isAllowedFor({ request, caller }, bucketInfo, "s3:DeleteObject")
    // A policy may have hundreds of patterns to compare with each key.
    const pause = yield* yieldEvery()
    for (const target of objects) {
      yield* pause
      const { key, version } = target
      if (version !== undefined && version !== "null" && version !== "") {
        failures.push({ ...target, code: "NoSuchVersion", message: "The specified version does not exist." })
      } else if (!mayDelete(key)) {
        failures.push({ ...target, code: "AccessDenied", message: "Access Denied" })
      } else accepted.push(target)
    }
    const deleted: Array<DeleteTarget> = []
    const refusals = yield* store.removeEach(request.bucket, accepted)
    for (const [index, target] of accepted.entries()) {
      const refusal = refusals[index]
      if (refusal === undefined) deleted.push(target)
      else failures.push({ ...target, code: refusal.code, message: refusal.message })
    }
    yield* pause
    return xmlReply("DeleteResult", {
      Deleted: quiet ? undefined : deleted.map(({ key, version }) => ({ Key: key, VersionId: version })),
      Error: failures.map(({ code, key, message, version }) => ({
        Key: key,
        VersionId: version,
        Code: code,
        Message: message
      }))
    })
  })
}
