import { Effect } from "effect"
import { mayDo } from "../Authorization.ts"
import { type Exchange, type Operation, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { s3Error } from "../Error.ts"
import { judge } from "../Request.ts"
import { children, childText, parseXml, type XmlNode } from "../Xml.ts"

const maximumKeys = 1000

interface Named {
  readonly key: string
  readonly version: string | undefined
}

interface Refused extends Named {
  readonly code: string
  readonly message: string
}

const parseDelete = (text: string) => {
  const root = parseXml(text, "Delete")
  const objects = children(root, "Object").map((node: XmlNode): Named => {
    const key = childText(node, "Key")
    if (key === undefined || key === "") throw s3Error("MalformedXML")
    return { key, version: childText(node, "VersionId")?.trim() }
  })
  if (objects.length === 0 || objects.length > maximumKeys) throw s3Error("MalformedXML")
  return { objects, quiet: childText(root, "Quiet")?.trim().toLowerCase() === "true" }
}

/** Each key is judged by itself: the answer is 200, whatever becomes of them. */
export const deleteObjects: Operation = {
  // That of each key is asked below; that nobody may do it without being asked is decided there too.
  action: "anyone",
  run: Effect.fnUntraced(function* ({ bucketInfo, caller, payload, request, store }: Exchange) {
    const document = yield* readDocument(yield* judge(payload))
    const { objects, quiet } = yield* judge(() => parseDelete(document))
    const refused: Array<Refused> = []
    const taken: Array<Named> = []
    for (const named of objects) {
      const { key, version } = named
      if (version !== undefined && version !== "null" && version !== "") {
        refused.push({ ...named, code: "NoSuchVersion", message: "The specified version does not exist." })
      } else if (bucketInfo === undefined || !mayDo({ request, caller }, bucketInfo, "s3:DeleteObject", key)) {
        refused.push({ ...named, code: "AccessDenied", message: "Access Denied" })
      } else taken.push(named)
    }
    if (taken.length > 0) {
      yield* store.remove(
        request.bucket,
        taken.map(({ key }) => key)
      )
    }
    return xmlReply("DeleteResult", {
      Deleted: quiet ? undefined : taken.map(({ key, version }) => ({ Key: key, VersionId: version })),
      Error: refused.map(({ code, key, message, version }) => ({
        Key: key,
        VersionId: version,
        Code: code,
        Message: message
      }))
    })
  })
}
