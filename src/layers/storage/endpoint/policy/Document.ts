import { maxPolicyBytes } from "../../../../domain/storage/Bucket.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { type PolicyCondition, matchesWildcards, parseCondition } from "./Conditions.ts"
import { s3Error } from "../Error.ts"

/** The account that owns all buckets. */
export const ownerAccount = "000000000000"
export const ownerArn = `arn:aws:iam::${ownerAccount}:root`

/** An element of a statement: its patterns, or with `not` everything but them. */
interface Matcher {
  readonly patterns: ReadonlyArray<string>
  readonly not: boolean
}

export interface PolicyStatement {
  readonly effect: "Allow" | "Deny"
  /** `*` is everyone, `owner` the owner. */
  readonly principals: Matcher
  /** Actions in lower case. */
  readonly actions: Matcher
  readonly resources: Matcher
  /** All must hold. */
  readonly conditions: ReadonlyArray<PolicyCondition>
}

const malformed = (why: string) => s3Error("MalformedPolicy", why)

/** The statements of a bucket's policy. Throws MalformedPolicy with the reason as its message. */
export const parsePolicy = (text: string, bucket: string): ReadonlyArray<PolicyStatement> => {
  if (Buffer.byteLength(text) > maxPolicyBytes) {
    throw malformed(`Policy exceeds the maximum allowed document size of ${maxPolicyBytes} bytes.`)
  }
  const document = parseJson(text)
  rejectUnknownFields(document, ["Version", "Id", "Statement"])
  if (document["Version"] !== undefined && !/^20(?:12-10-17|08-10-17)$/.test(String(document["Version"]))) {
    throw malformed("The policy must contain a valid version string: 2012-10-17 or 2008-10-17")
  }
  if (document["Id"] !== undefined && typeof document["Id"] !== "string") throw malformed("Id must be a string")
  const given = document["Statement"]
  const statements = Array.isArray(given) ? given : [given]
  if (given === undefined || statements.length === 0) throw malformed("Missing required field Statement")
  const ids = statements.flatMap((each: unknown) =>
    // An empty one deletes the policy, as in S3.
    isJsonObject(each) && typeof each["Sid"] === "string" && each["Sid"] !== "" ? each["Sid"] : []
  )
  if (new Set(ids).size < ids.length) throw malformed("Statement IDs (SID) in a single policy must be unique.")
  return statements.map((each: unknown) => parseStatement(each, bucket))
}

const parseJson = (text: string): JsonObject => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed("Policies must be valid JSON and the first byte must be '{'")
  }
  if (!isJsonObject(value)) throw malformed("Policies must be valid JSON and the first byte must be '{'")
  return value
}

const rejectUnknownFields = (value: JsonObject, names: ReadonlyArray<string>) => {
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown !== undefined) throw malformed(`Unknown field ${unknown}`)
}

const fields = [
  "Sid",
  "Effect",
  "Principal",
  "NotPrincipal",
  "Action",
  "NotAction",
  "Resource",
  "NotResource",
  "Condition"
]

const parseStatement = (value: unknown, bucket: string): PolicyStatement => {
  if (!isJsonObject(value)) throw malformed("A statement must be an object")
  rejectUnknownFields(value, fields)
  if (value["Sid"] !== undefined && typeof value["Sid"] !== "string") throw malformed("Sid must be a string")
  const effect = value["Effect"]
  if (effect !== "Allow" && effect !== "Deny") throw malformed(`Invalid effect: ${preview(effect)}`)
  const principals = parseMatcher(value, "Principal", parsePrincipal)
  const actions = parseMatcher(value, "Action", (given) => strings(given, "action").map((each) => each.toLowerCase()))
  const resources = parseMatcher(value, "Resource", (given) => strings(given, "resource"))
  if (principals.not && effect === "Allow") throw malformed("Allow with NotPrincipal is not allowed")
  checkTargets(actions, resources, bucket)
  return { effect, principals, actions, resources, conditions: parseConditions(value["Condition"]) }
}

const parseMatcher = (value: JsonObject, name: string, parse: (given: unknown) => ReadonlyArray<string>): Matcher => {
  const [is, isNot] = [value[name], value[`Not${name}`]]
  if ((is === undefined) === (isNot === undefined)) {
    throw malformed(
      is === undefined ? `Missing required field ${name}` : `${name} and Not${name} are mutually exclusive`
    )
  }
  return { not: isNot !== undefined, patterns: parse(is ?? isNot) }
}

const strings = (value: unknown, what: string): ReadonlyArray<string> => {
  const list: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  return list.map((each) => {
    if (typeof each !== "string" || each === "" || each.includes("${")) {
      throw malformed(`Policy has invalid ${what}: ${preview(each)}`)
    }
    return each
  })
}

const parsePrincipal = (value: unknown): ReadonlyArray<string> => {
  if (value === "*") return ["*"]
  if (!isJsonObject(value)) throw malformed(`Invalid principal in policy: ${preview(value)}`)
  return Object.entries(value).flatMap(([kind, names]) =>
    strings(names, "principal").map((name) => {
      if (kind === "AWS" && name === "*") return "*"
      if (kind === "AWS" && (name === ownerAccount || name === ownerArn)) return "owner"
      if (kind === "CanonicalUser" && name === ownerAccount) return "owner"
      throw malformed(`Invalid principal in policy: "${kind}":"${name}". Use "*" or "${ownerArn}"`)
    })
  )
}

const checkTargets = (actions: Matcher, resources: Matcher, bucket: string) => {
  const arn = `arn:aws:s3:::${bucket}`
  for (const pattern of resources.patterns) {
    const slash = pattern.indexOf("/")
    const bucketPattern = slash === -1 ? pattern : pattern.slice(0, slash)
    if (pattern !== "*" && !matchesWildcards(bucketPattern, arn))
      throw malformed(`Policy has invalid resource: ${pattern}`)
  }
  const coversBucket = resources.not || resources.patterns.some((pattern) => matchesWildcards(pattern, arn))
  const coversObjects = resources.not || resources.patterns.some((pattern) => /[*/]/.test(pattern))
  for (const pattern of actions.patterns) {
    const targets = pattern === "*" ? { bucket: true, object: true } : actionTargets(pattern)
    if (!targets.bucket && !targets.object) throw malformed(`Policy has invalid action: ${pattern}`)
    if (!actions.not && !(targets.bucket && coversBucket) && !(targets.object && coversObjects)) {
      throw malformed(`Action does not apply to any resource(s) in statement: ${pattern}`)
    }
  }
}

const parseConditions = (value: unknown): ReadonlyArray<PolicyCondition> => {
  if (value === undefined) return []
  if (!isJsonObject(value)) throw malformed("Condition must be an object")
  return Object.entries(value).flatMap(([operator, tests]) => {
    if (!isJsonObject(tests)) throw malformed(`Condition ${operator} must be an object`)
    return Object.entries(tests).map(([key, given]) => {
      const list: ReadonlyArray<unknown> = Array.isArray(given) ? given : [given]
      if (list.some((each) => !["string", "number", "boolean"].includes(typeof each))) {
        throw malformed(`Invalid value for ${operator}: ${preview(given)}`)
      }
      const condition = parseCondition(operator, key, list.map(String))
      if (typeof condition === "string") throw malformed(condition)
      return condition
    })
  })
}

const preview = (value: unknown) => (JSON.stringify(value) ?? "nothing").slice(0, 200)

/** Actions on buckets. */
const onBuckets = [
  "CreateBucket DeleteBucket DeleteBucketPolicy DeleteBucketWebsite GetAccelerateConfiguration GetAnalyticsConfiguration",
  "GetBucketAcl GetBucketCORS GetBucketLocation GetBucketLogging GetBucketNotification GetBucketObjectLockConfiguration",
  "GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus GetBucketPublicAccessBlock GetBucketRequestPayment",
  "GetBucketTagging GetBucketVersioning GetBucketWebsite GetEncryptionConfiguration GetIntelligentTieringConfiguration",
  "GetInventoryConfiguration GetLifecycleConfiguration GetMetricsConfiguration GetReplicationConfiguration ListBucket",
  "ListBucketMultipartUploads ListBucketVersions PutAccelerateConfiguration PutAnalyticsConfiguration PutBucketAcl",
  "PutBucketCORS PutBucketLogging PutBucketNotification PutBucketObjectLockConfiguration PutBucketOwnershipControls",
  "PutBucketPolicy PutBucketPublicAccessBlock PutBucketRequestPayment PutBucketTagging PutBucketVersioning",
  "PutBucketWebsite PutEncryptionConfiguration PutIntelligentTieringConfiguration PutInventoryConfiguration",
  "PutLifecycleConfiguration PutMetricsConfiguration PutReplicationConfiguration"
].flatMap((line) => line.split(" "))

/** Actions on objects. */
const onObjects = [
  "AbortMultipartUpload BypassGovernanceRetention DeleteObject DeleteObjectTagging DeleteObjectVersion",
  "DeleteObjectVersionTagging GetObject GetObjectAcl GetObjectAttributes GetObjectLegalHold GetObjectRetention",
  "GetObjectTagging GetObjectTorrent GetObjectVersion GetObjectVersionAcl GetObjectVersionAttributes",
  "GetObjectVersionForReplication GetObjectVersionTagging GetObjectVersionTorrent ListMultipartUploadParts",
  "ObjectOwnerOverrideToBucketOwner PutObject PutObjectAcl PutObjectLegalHold PutObjectRetention PutObjectTagging",
  "PutObjectVersionAcl PutObjectVersionTagging ReplicateDelete ReplicateObject ReplicateTags RestoreObject"
].flatMap((line) => line.split(" "))

const lower = (names: ReadonlyArray<string>) => names.map((name) => `s3:${name}`.toLowerCase())
const bucketActions = lower(onBuckets)
const objectActions = lower(onObjects)

/** Whether actions that match the pattern (lower case, with wildcards) apply to buckets and to objects. */
const actionTargets = (pattern: string) => ({
  bucket: bucketActions.some((action) => matchesWildcards(pattern, action)),
  object: objectActions.some((action) => matchesWildcards(pattern, action))
})
