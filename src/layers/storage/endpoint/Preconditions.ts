import { s3Error } from "./Error.ts"
import { type WriteCondition, type ObjectInfo } from "./store/Model.ts"

type Header = (name: string) => string | undefined
type Validators = Pick<ObjectInfo, "etag" | "lastModified">

/**
 * Evaluates If-Match and the other conditions in the order of RFC 9110; `prefix` is that of the headers for a copy's
 * source. Throws PreconditionFailed; "not modified" means status 304.
 */
export const precondition = (header: Header, info: Validators, prefix = ""): "proceed" | "not modified" => {
  const get = (name: string) => header(`${prefix}${name}`)
  const seconds = Math.floor(info.lastModified.getTime() / 1000) * 1000
  const [match, noneMatch] = [get("if-match"), get("if-none-match")]
  const [modified, unmodified] = [time(get("if-modified-since")), time(get("if-unmodified-since"))]
  const failed = (condition: string) => s3Error("PreconditionFailed", undefined, { Condition: condition })
  if (match !== undefined) {
    if (!matches(match, info.etag)) throw failed("If-Match")
  } else if (unmodified !== undefined && seconds > unmodified) throw failed("If-Unmodified-Since")
  if (noneMatch !== undefined) return matches(noneMatch, info.etag) ? "not modified" : "proceed"
  return modified !== undefined && seconds <= modified ? "not modified" : "proceed"
}

const time = (text: string | undefined) => {
  const millis = Date.parse(text ?? "")
  return Number.isNaN(millis) ? undefined : millis
}

const matches = (list: string, etag: string) =>
  list.split(",").some((each) => each.trim() === "*" || bareEtag(each) === etag)

/** The ETag without quotes and weakness prefix. */
export const bareEtag = (text: string) => text.trim().replace(/^(?:W\/)?"?(.*?)"?$/, "$1")

/** The condition of a write on the existing object. Throws NotImplemented for conditions that S3 does not support. */
export const writeCondition = (header: Header): WriteCondition => {
  const [match, noneMatch] = [header("if-match"), header("if-none-match")]
  if (noneMatch !== undefined && noneMatch.trim() !== "*") {
    throw s3Error("NotImplemented", "A header you provided implies functionality that is not implemented", {
      Header: "If-None-Match",
      additionalMessage: "We only accept * here"
    })
  }
  return {
    ...(match === undefined ? {} : { ifMatch: match.trim() === "*" ? "*" : bareEtag(match) }),
    ...(noneMatch === undefined ? {} : { ifNoneMatch: "*" })
  }
}

/** The condition of a deletion, from headers or from the elements of DeleteObjects. Undefined if a value is invalid. */
export const removalCondition = (
  etag: string | undefined,
  modified: string | undefined,
  size: string | undefined
): WriteCondition | undefined => {
  const millis = modified === undefined ? undefined : Date.parse(modified)
  if (Number.isNaN(millis) || !/^\d{1,15}$/.test(size ?? "0") || etag?.trim() === "") return undefined
  return {
    ...(etag === undefined ? {} : { ifMatch: etag.trim() === "*" ? "*" : bareEtag(etag) }),
    ...(millis === undefined ? {} : { ifModifiedAt: Math.floor(millis / 1000) }),
    ...(size === undefined ? {} : { ifSize: Number(size) })
  }
}

export interface ObjectRange {
  /** Both inclusive. */
  readonly start: number
  readonly end: number
}

/** The range of a Range header; undefined (the whole object) for invalid and multiple ranges. Throws InvalidRange. */
export const rangeOf = (text: string | undefined, size: number): ObjectRange | undefined => {
  // No two spans of whitespace may meet in this pattern: that takes quadratic time.
  const match = /^bytes\s*=\s*(\d*)-(\d*)\s*$/i.exec(text ?? "")
  if (match === null) return undefined
  const [from = "", to = ""] = match.slice(1)
  if (from === "" && to === "") return undefined
  if (from !== "" && to !== "" && Number(from) > Number(to)) return undefined
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from)
  if (start >= size) {
    throw s3Error("InvalidRange", undefined, { RangeRequested: text ?? "", ActualObjectSize: String(size) })
  }
  return { start, end: from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1) }
}
