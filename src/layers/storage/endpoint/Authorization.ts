import { LRUCache } from "lru-cache"
import { concerns, evaluatePolicy } from "./policy/Policy.ts"
import { type PolicyContext } from "./policy/Conditions.ts"
import { ownerAccount, ownerArn, parsePolicy, type PolicyStatement } from "./policy/Document.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type Signer } from "./signature/SigV4.ts"
import { type BucketInfo } from "./store/Model.ts"

/** The owner may always do these, so that a policy can't lock out the only one who can change it. */
const onPolicies = new Set(["s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy"])

interface Requester {
  readonly request: S3Request
  readonly caller: Signer
}

/**
 * Throws AccessDenied unless the caller may do `action` with the key, empty for the bucket itself. `version`: the one that
 * the action is for, which need not be named in the query.
 */
export const authorize = (
  requester: Requester,
  info: BucketInfo,
  action: string | undefined,
  key: string,
  version?: string
) => {
  if (!isAllowed(requester, info, action, key, version)) throw s3Error("AccessDenied", "Access Denied")
}

export const isAllowed = (
  requester: Requester,
  info: BucketInfo,
  action: string | undefined,
  key: string,
  version?: string
) => isAllowedFor(requester, info, action)(key, version)

/** Like `isAllowed`, for many keys. */
export const isAllowedFor = (
  { caller, request }: Requester,
  info: BucketInfo,
  action: string | undefined
): ((key: string, version?: string) => boolean) => {
  const byDefault = () => caller !== undefined
  if (action === undefined || onPolicies.has(action) || info.policy === undefined) return byDefault
  if (caller === undefined && info.publicAccess?.RestrictPublicBuckets === true) return byDefault
  const by = caller === undefined ? "anonymous" : "owner"
  const statements = statementsOf(info.name, info.policy).filter((statement) => concerns(statement, by, action))
  if (statements.length === 0) return byDefault
  const context = contextOf(request, caller)
  return (key, version) => {
    const resource = `arn:aws:s3:::${info.name}${key === "" ? "" : `/${key}`}`
    const named = version === undefined ? context : new Map([...context, ["s3:versionid", version]])
    const verdict = evaluatePolicy(statements, { by, action, resource, context: named })
    return caller === undefined ? verdict === "Allow" : verdict !== "Deny"
  }
}

/** Whether the caller may do `action` with some key, if conditions allow it: false saves reading the request. */
export const mayBeAllowed = ({ caller }: Requester, info: BucketInfo, action: string) => {
  if (caller !== undefined) return true
  if (info.policy === undefined || info.publicAccess?.RestrictPublicBuckets === true) return false
  return statementsOf(info.name, info.policy).some(
    (statement) => statement.effect === "Allow" && concerns(statement, "anonymous", action)
  )
}

/** The condition keys of a request. */
const contextOf = ({ header, message, param }: S3Request, caller: Signer): PolicyContext => {
  const context = new Map<string, string>()
  const set = (name: string, value: string | undefined) => {
    if (value !== undefined) context.set(name.toLowerCase(), value)
  }
  const now = new Date()
  set("aws:CurrentTime", now.toISOString())
  set("aws:EpochTime", String(Math.floor(now.getTime() / 1000)))
  set("aws:SourceIp", message.socket.remoteAddress)
  // A client that forges this header weakens only its own requests.
  set("aws:SecureTransport", String(/^https\b/i.test(String(message.headers["x-forwarded-proto"]))))
  set("aws:UserAgent", message.headers["user-agent"])
  set("aws:Referer", message.headers.referer)
  set("s3:ResourceAccount", ownerAccount)
  if (caller === undefined) set("aws:PrincipalType", "Anonymous")
  else {
    set("aws:PrincipalType", "Account")
    set("aws:PrincipalArn", ownerArn)
    set("aws:PrincipalAccount", ownerAccount)
    set("aws:userid", ownerAccount)
    set("s3:authType", authTypes[caller.by])
    set("s3:signatureversion", caller.version)
    if (caller.version !== "AWS") set("s3:signatureAge", String(caller.age))
  }
  for (const name of ["prefix", "delimiter", "max-keys"]) set(`s3:${name}`, param(name))
  for (const name of fromHeaders) set(`s3:${name}`, header(name))
  return context
}

const authTypes = { header: "REST-HEADER", query: "REST-QUERY-STRING", form: "POST" } as const

const fromHeaders = [
  "if-match",
  "if-none-match",
  "x-amz-acl",
  "x-amz-content-sha256",
  "x-amz-copy-source",
  "x-amz-metadata-directive",
  "x-amz-server-side-encryption",
  "x-amz-storage-class"
]

const parsedPolicies = new LRUCache<string, ReadonlyArray<PolicyStatement>>({ max: 200 })

const statementsOf = (bucket: string, policy: string) => {
  const id = `${bucket}\n${policy}`
  const statements = parsedPolicies.get(id) ?? parsePolicy(policy, bucket)
  parsedPolicies.set(id, statements)
  return statements
}
