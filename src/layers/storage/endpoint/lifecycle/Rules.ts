import { randomUUID } from "node:crypto"
import { maxKeyBytes } from "../../../../domain/storage/Object.ts"
import { s3Error } from "../Error.ts"
import { type Tag } from "../store/Model.ts"
import { children, childText, parseXml, xmlText, xmlDocument, type XmlNode } from "../Xml.ts"

const maximumRules = 1000
const dayMillis = 24 * 3_600_000

/** The time at which something is due: so many days after it was made, or at a moment in ms. */
type Due = { readonly days: number } | { readonly at: number }

/** A rule of a bucket's lifecycle. All parts of the filter must match. */
export interface LifecycleRule {
  readonly enabled: boolean
  readonly prefix: string
  readonly tags: ReadonlyArray<Tag>
  /** Bytes, both exclusive. */
  readonly above: number
  readonly below: number
  /** The expiry of objects. */
  readonly expiration: Due | undefined
  /** The expiry of open uploads. */
  readonly abortion: Due | undefined
  /** The expiry of older versions, of which the `newest` of a key stay. */
  readonly superseded: { readonly days: number; readonly newest: number } | undefined
  /** Whether delete markers that are the only version of their key are deleted. */
  readonly markers: boolean
}

/** A version as rules see it. */
interface AgedVersion extends Aged {
  readonly isMarker: boolean
  readonly supersededAt: Date | undefined
}

/** The attributes of an object that rules use. */
interface Aged {
  readonly key: string
  readonly size: number
  readonly tags: ReadonlyArray<Tag>
  readonly lastModified: Date
}

/** Days end at midnight UTC, as in S3. */
const isDue = (due: Due, since: Date, now: number) =>
  now >= ("at" in due ? due.at : Math.ceil((since.getTime() + due.days * dayMillis) / dayMillis) * dayMillis)

const concernsObject = ({ above, below, enabled, prefix, tags }: LifecycleRule, object: Aged) =>
  enabled &&
  object.key.startsWith(prefix) &&
  object.size > above &&
  object.size < below &&
  tags.every(([key, value]) => object.tags.some((tag) => tag[0] === key && tag[1] === value))

export const isExpired = (rules: ReadonlyArray<LifecycleRule>, object: Aged, now: number) =>
  rules.some(
    (rule) =>
      rule.expiration !== undefined && concernsObject(rule, object) && isDue(rule.expiration, object.lastModified, now)
  )

/** Whether an older version is due; `newer`: how many older versions of its key are newer than it. */
export const isVersionDue = (rules: ReadonlyArray<LifecycleRule>, version: AgedVersion, newer: number, now: number) =>
  rules.some((rule) => {
    const { superseded } = rule
    if (superseded === undefined || version.supersededAt === undefined || newer < superseded.newest) return false
    return concernsObject(rule, version) && isDue(superseded, version.supersededAt, now)
  })

/** Whether a delete marker is due, if it is the only version of its key. It has neither tags nor a size for filters. */
export const isMarkerDue = (rules: ReadonlyArray<LifecycleRule>, marker: AgedVersion, now: number) =>
  rules.some((rule) => {
    const { above, below, enabled, expiration, markers, prefix, tags } = rule
    if (!enabled || !marker.key.startsWith(prefix) || tags.length > 0 || above >= 0 || below < Infinity) return false
    return markers || (expiration !== undefined && "days" in expiration && isDue(expiration, marker.lastModified, now))
  })

export const isAbandoned = (
  rules: ReadonlyArray<LifecycleRule>,
  upload: { readonly key: string; readonly createdAt: Date },
  now: number
) =>
  rules.some(
    ({ abortion, enabled, prefix }) =>
      enabled && abortion !== undefined && upload.key.startsWith(prefix) && isDue(abortion, upload.createdAt, now)
  )

/**
 * The prefixes that cover those of all enabled rules with this action, none of which covers another. `versions`: rules that
 * may delete versions or delete markers.
 */
export const prefixesOf = (rules: ReadonlyArray<LifecycleRule>, action: "expiration" | "abortion" | "versions") => {
  const acts = (rule: LifecycleRule) =>
    action === "versions"
      ? rule.superseded !== undefined || rule.markers || rule.expiration !== undefined
      : rule[action] !== undefined
  const all = rules.filter((rule) => rule.enabled && acts(rule)).map(({ prefix }) => prefix)
  const covering: Array<string> = []
  for (const prefix of all.toSorted()) {
    const last = covering.at(-1)
    if (last === undefined || !prefix.startsWith(last)) covering.push(prefix)
  }
  return covering
}

/**
 * The rules of a LifecycleConfiguration, and the document to store: each rule in it has an ID. Throws MalformedXML,
 * InvalidArgument and InvalidRequest, and NotImplemented for transitions.
 */
export const parseLifecycle = (text: string) => {
  const nodes = children(parseXml(text, "LifecycleConfiguration"), "Rule")
  if (nodes.length === 0 || nodes.length > maximumRules) throw s3Error("MalformedXML")
  const ids = nodes.map((node) => childText(node, "ID") ?? "").map((id) => (id === "" ? randomUUID() : id))
  if (ids.some((id) => id.length > 255)) {
    throw s3Error("InvalidArgument", "ID length should not exceed allowed limit of 255")
  }
  if (new Set(ids).size < ids.length) {
    throw s3Error("InvalidArgument", "Rule ID must be unique. Found same ID for one or more rules")
  }
  const rules = nodes.map(parseRule)
  const stored = nodes.map((node, index) => Object.assign({}, node, { ID: ids[index] ?? "" }))
  return { rules, document: xmlDocument("LifecycleConfiguration", { Rule: stored }) }
}

/** The element of this name and its children, which must be among the given ones; undefined if there is none. */
const only = (node: XmlNode, name: string, allowed: ReadonlyArray<string>): XmlNode | undefined => {
  const [found, ...others] = children(node, name)
  if (others.length > 0) throw s3Error("MalformedXML")
  if (found !== undefined) checkChildren(found, allowed)
  return found
}

const checkChildren = (node: XmlNode, allowed: ReadonlyArray<string>) => {
  if (typeof node === "string" ? node.trim() !== "" : Object.keys(node).some((name) => !allowed.includes(name))) {
    throw s3Error("MalformedXML")
  }
}

const transitions = ["Transition", "NoncurrentVersionTransition"]
const actions = ["Expiration", "AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"]

const parseRule = (node: XmlNode): LifecycleRule => {
  if (typeof node === "string") throw s3Error("MalformedXML")
  if (transitions.some((name) => node[name] !== undefined)) {
    throw s3Error("NotImplemented", "STANDARD is the only storage class: lifecycle rules can't have transitions")
  }
  checkChildren(node, ["ID", "Prefix", "Filter", "Status", ...actions])
  const status = childText(node, "Status")?.trim()
  if (status !== "Enabled" && status !== "Disabled") throw s3Error("MalformedXML")
  if (actions.every((name) => node[name] === undefined)) {
    throw s3Error("InvalidRequest", "At least one action needs to be specified in a rule")
  }
  const filter = parseFilter(node)
  const versions = only(node, "NoncurrentVersionExpiration", ["NoncurrentDays", "NewerNoncurrentVersions"])
  const newest = versions === undefined ? undefined : childText(versions, "NewerNoncurrentVersions")
  const abort = only(node, "AbortIncompleteMultipartUpload", ["DaysAfterInitiation"])
  if (abort !== undefined && (filter.tags.length > 0 || filter.above >= 0 || filter.below < Infinity)) {
    throw s3Error("InvalidRequest", "AbortIncompleteMultipartUpload cannot be specified with Tags or object sizes")
  }
  return {
    ...filter,
    enabled: status === "Enabled",
    expiration: parseExpiration(node),
    abortion:
      abort === undefined
        ? undefined
        : { days: parseDays(childText(abort, "DaysAfterInitiation"), "DaysAfterInitiation") },
    superseded:
      versions === undefined
        ? undefined
        : {
            days: parseDays(childText(versions, "NoncurrentDays"), "NoncurrentDays"),
            newest: newest === undefined ? 0 : parseDays(newest, "NewerNoncurrentVersions")
          },
    markers: children(children(node, "Expiration")[0] ?? "", "ExpiredObjectDeleteMarker").some(
      (text) => xmlText(text).trim() === "true"
    )
  }
}

const conditions = ["Prefix", "Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan"]

/** `Filter`, or `Prefix` in its place in older documents. */
const parseFilter = (node: XmlNode) => {
  const filter = only(node, "Filter", [...conditions, "And"])
  const legacy = childText(node, "Prefix")
  if ((filter === undefined) === (legacy === undefined)) throw s3Error("MalformedXML")
  const and = filter === undefined ? undefined : only(filter, "And", conditions)
  const given = and ?? filter ?? { Prefix: [legacy ?? ""] }
  if (typeof filter === "object" && Object.values(filter).flat().length > 1) throw s3Error("MalformedXML")
  const prefix = childText(given, "Prefix") ?? ""
  if (Buffer.byteLength(prefix) > maxKeyBytes) {
    throw s3Error("InvalidRequest", `The maximum size of a prefix is ${maxKeyBytes}.`)
  }
  const tags = children(given, "Tag").map((tag): Tag => {
    const [key, value] = [childText(tag, "Key"), childText(tag, "Value")]
    if (key === undefined || value === undefined || key === "") throw s3Error("MalformedXML")
    return [key, value]
  })
  return {
    prefix,
    tags,
    above: parseSize(childText(given, "ObjectSizeGreaterThan"), -1),
    below: parseSize(childText(given, "ObjectSizeLessThan"), Infinity)
  }
}

const parseSize = (text: string | undefined, otherwise: number) => {
  if (text === undefined) return otherwise
  if (!/^\d{1,15}$/.test(text.trim())) throw s3Error("MalformedXML")
  return Number(text)
}

const parseDays = (text: string | undefined, name: string) => {
  const days = text?.trim() ?? ""
  if (!/^[+-]?\d{1,10}$/.test(days)) throw s3Error("MalformedXML")
  if (Number(days) < 1 || Number(days) > 2 ** 31 - 1) {
    throw s3Error("InvalidArgument", `'${name}' must be a positive integer`)
  }
  return Number(days)
}

const parseExpiration = (rule: XmlNode): Due | undefined => {
  const node = only(rule, "Expiration", ["Days", "Date", "ExpiredObjectDeleteMarker"])
  if (node === undefined) return undefined
  if (typeof node === "string" || Object.values(node).flat().length !== 1) throw s3Error("MalformedXML")
  const [days, date] = [childText(node, "Days"), childText(node, "Date")]
  if (days !== undefined) return { days: parseDays(days, "Days") }
  if (date === undefined) {
    if (!/^(?:true|false)$/.test(xmlText(node["ExpiredObjectDeleteMarker"]?.[0] ?? "").trim()))
      throw s3Error("MalformedXML")
    return undefined
  }
  const at = /^\d{4}-\d\d-\d\d(?:T[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)?)?$/.test(date.trim())
    ? Date.parse(date.trim())
    : NaN
  if (Number.isNaN(at)) throw s3Error("MalformedXML")
  if (at % dayMillis !== 0) throw s3Error("InvalidArgument", "'Date' must be at midnight GMT")
  return { at }
}
