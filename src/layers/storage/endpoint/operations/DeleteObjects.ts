import { maxKeys } from "../../../../domain/storage/Object.ts"
import { Effect } from "effect"
import { isAllowed } from "../Authorization.ts"
import { type Exchange, type Operation, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { children, childText, parseXml, type XmlNode } from "../Xml.ts"

interface DeleteTarget {
  readonly key: string
  readonly version: string | undefined
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
    return { key, version: childText(node, "VersionId")?.trim() }
  })
  if (objects.length === 0 || objects.length > maxKeys) throw s3Error("MalformedXML")
  return { objects, quiet: childText(root, "Quiet")?.trim().toLowerCase() === "true" }
}

/** Each key is authorized by itself: the status is 200 even if some fail. */
export const deleteObjects: Operation = {
  // Each key is authorized in `run`.
  action: "anyone",
  run: Effect.fnUntraced(function* ({ bucketInfo, caller, payload, request, store }: Exchange) {
    const document = yield* readDocument(yield* tryS3(payload))
    const { objects, quiet } = yield* tryS3(() => parseDelete(document))
    const failures: Array<DeleteFailure> = []
    const accepted: Array<DeleteTarget> = []
    for (const target of objects) {
      const { key, version } = target
      if (version !== undefined && version !== "null" && version !== "") {
        failures.push({ ...target, code: "NoSuchVersion", message: "The specified version does not exist." })
      } else if (bucketInfo === undefined || !isAllowed({ request, caller }, bucketInfo, "s3:DeleteObject", key)) {
        failures.push({ ...target, code: "AccessDenied", message: "Access Denied" })
      } else accepted.push(target)
    }
    if (accepted.length > 0) {
      yield* store.remove(
        request.bucket,
        accepted.map(({ key }) => key)
      )
    }
    return xmlReply("DeleteResult", {
      Deleted: quiet ? undefined : accepted.map(({ key, version }) => ({ Key: key, VersionId: version })),
      Error: failures.map(({ code, key, message, version }) => ({
        Key: key,
        VersionId: version,
        Code: code,
        Message: message
      }))
    })
  })
}
