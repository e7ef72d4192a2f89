import { LRUCache } from "lru-cache"
import { emptyReply, type Reply, type S3Settings } from "./Exchange.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type BucketInfo } from "./store/Model.ts"
import { matchesWildcards } from "./policy/Conditions.ts"
import { children, childText, parseXml, xmlText, xmlDocument, type XmlNode } from "./Xml.ts"

type Headers = Readonly<Record<string, string>>

const vary: Headers = { vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method" }

/** Methods of presigned URLs. */
const ownMethods = ["GET", "HEAD", "PUT"]

/**
 * Whether one of the service's own pages uses a presigned URL, which it may whatever the bucket's rules are: the URL
 * authorizes every holder, and no credentials of the browser go along.
 */
const isOwn = ({ message, param }: S3Request, method: string, { isOwnPage }: Pick<S3Settings, "isOwnPage">) => {
  const { host = "", origin } = message.headers
  return (
    origin !== undefined &&
    ownMethods.includes(method) &&
    param("X-Amz-Signature") !== undefined &&
    isOwnPage(origin, host)
  )
}

const ownHeaders = (origin: string, names: ReadonlyArray<string>): Headers => ({
  ...vary,
  "access-control-allow-origin": origin,
  "access-control-allow-methods": ownMethods.join(", "),
  "access-control-max-age": "3600",
  ...(names.length === 0 ? {} : { "access-control-allow-headers": names.join(", ") })
})

/** Exposes the ETag, which uploads in parts read. */
const exposingEtag = (headers: Headers): Headers => {
  const exposed = headers["access-control-expose-headers"]
  return { ...headers, "access-control-expose-headers": exposed === undefined ? "ETag" : `ETag, ${exposed}` }
}

/** The CORS headers of a response, by the bucket's rules. */
export const bucketCorsHeaders = (
  request: S3Request,
  info: BucketInfo | undefined,
  settings: Pick<S3Settings, "isOwnPage">
): Headers => {
  const { method } = request
  const { origin } = request.message.headers
  const none = info?.cors === undefined ? {} : vary
  if (origin === undefined) return none
  const allowed =
    info?.cors === undefined ? undefined : allowedHeaders(rulesOf(info.cors), { origin, method, headers: [] })
  if (isOwn(request, method, settings)) return exposingEtag(allowed ?? ownHeaders(origin, []))
  return allowed ?? none
}

/** The response to a preflight request. Throws BadRequest and AccessForbidden. */
export const bucketPreflight = (
  request: S3Request,
  info: BucketInfo | undefined,
  settings: Pick<S3Settings, "isOwnPage">
): Reply => {
  const { headers } = request.message
  const method = headers["access-control-request-method"]
  if (headers.origin === undefined) {
    throw s3Error("BadRequest", "Insufficient information. Origin request header needed.")
  }
  if (method === undefined) throw s3Error("BadRequest", "Invalid Access-Control-Request-Method: null")
  const named = parseHeaderNames(headers["access-control-request-headers"])
  const forbidden = (why: string) =>
    s3Error("AccessForbidden", `CORSResponse: ${why}`, {
      Method: method,
      ResourceType: request.key === "" ? "BUCKET" : "OBJECT"
    })
  const own = isOwn(request, method, settings) ? exposingEtag(ownHeaders(headers.origin, named)) : undefined
  if (info?.cors === undefined) {
    if (own === undefined) throw forbidden("CORS is not enabled for this bucket.")
    return emptyReply(200, own)
  }
  const headersOfRule = allowedHeaders(rulesOf(info.cors), { origin: headers.origin, method, headers: named }) ?? own
  if (headersOfRule === undefined) {
    throw forbidden(
      "This CORS request is not allowed. This is usually because the evalution of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."
    )
  }
  return emptyReply(200, headersOfRule)
}

const parsedRules = new LRUCache<string, ReadonlyArray<BucketCorsRule>>({ max: 200 })

const rulesOf = (text: string) => {
  const rules = parsedRules.get(text) ?? parseCors(text)
  parsedRules.set(text, rules)
  return rules
}

/** One rule of a bucket: which requests browsers may send from which origins. */
export interface BucketCorsRule {
  readonly id: string | undefined
  readonly origins: ReadonlyArray<string>
  readonly methods: ReadonlyArray<string>
  /** May contain one `*`; matched case-insensitively. */
  readonly headers: ReadonlyArray<string>
  readonly expose: ReadonlyArray<string>
  readonly maxAge: number | undefined
}

const corsMethods = new Set(["GET", "PUT", "POST", "DELETE", "HEAD"])

/** The rules of a CORSConfiguration. Throws MalformedXML and InvalidRequest. */
export const parseCors = (text: string): ReadonlyArray<BucketCorsRule> => {
  const rules = children(parseXml(text, "CORSConfiguration"), "CORSRule").map(parseRule)
  if (rules.length === 0 || rules.length > 100) throw s3Error("MalformedXML")
  return rules
}

const parseRule = (node: XmlNode): BucketCorsRule => {
  const all = (name: string) => children(node, name).map(xmlText)
  const rule = {
    id: childText(node, "ID"),
    origins: all("AllowedOrigin"),
    methods: all("AllowedMethod"),
    headers: all("AllowedHeader"),
    expose: all("ExposeHeader"),
    maxAge: parseMaxAge(childText(node, "MaxAgeSeconds"))
  }
  if (rule.origins.length === 0 || rule.methods.length === 0 || (rule.id ?? "").length > 255) {
    throw s3Error("MalformedXML")
  }
  for (const method of rule.methods) {
    if (!corsMethods.has(method)) {
      throw s3Error("InvalidRequest", `Found unsupported HTTP method in CORS config. Unsupported method is ${method}`)
    }
  }
  for (const [name, values] of [
    ["AllowedOrigin", rule.origins],
    ["AllowedHeader", rule.headers]
  ] as const) {
    const wild = values.find((value) => value.split("*").length > 2)
    if (wild !== undefined) {
      throw s3Error("InvalidRequest", `${name} "${wild}" can not have more than one wildcard.`)
    }
  }
  const bad = rule.expose.find((value) => !/^[!#$%&'+.^_`|~0-9a-z-]+$/i.test(value))
  if (bad !== undefined) {
    throw s3Error("InvalidRequest", `ExposeHeader "${bad}" must be a header name, without wildcards.`)
  }
  return rule
}

const parseMaxAge = (text: string | undefined) => {
  if (text === undefined) return undefined
  if (!/^\d{1,10}$/.test(text.trim())) throw s3Error("MalformedXML")
  return Number(text)
}

export const printCors = (rules: ReadonlyArray<BucketCorsRule>) =>
  xmlDocument("CORSConfiguration", {
    CORSRule: rules.map((rule) => ({
      ID: rule.id,
      AllowedMethod: rule.methods,
      AllowedOrigin: rule.origins,
      AllowedHeader: rule.headers,
      ExposeHeader: rule.expose,
      MaxAgeSeconds: rule.maxAge
    }))
  })

/** `headers` are those of Access-Control-Request-Headers. */
interface CorsRequest {
  readonly origin: string
  readonly method: string
  readonly headers: ReadonlyArray<string>
}

/** The response headers by the first rule that matches; undefined if none does. */
const allowedHeaders = (
  rules: ReadonlyArray<BucketCorsRule>,
  { headers, method, origin }: CorsRequest
): Readonly<Record<string, string>> | undefined => {
  for (const rule of rules) {
    const allowed = rule.origins.find((pattern) => matchesWildcards(pattern, origin))
    if (allowed === undefined || !rule.methods.includes(method)) continue
    const patterns = rule.headers.map((header) => header.toLowerCase())
    if (!headers.every((header) => patterns.some((pattern) => matchesWildcards(pattern, header)))) continue
    return {
      "access-control-allow-origin": allowed === "*" ? "*" : origin,
      "access-control-allow-methods": rule.methods.join(", "),
      ...(headers.length === 0 ? {} : { "access-control-allow-headers": headers.join(", ") }),
      ...(rule.expose.length === 0 ? {} : { "access-control-expose-headers": rule.expose.join(", ") }),
      ...(rule.maxAge === undefined ? {} : { "access-control-max-age": String(rule.maxAge) }),
      ...(allowed === "*" ? {} : { "access-control-allow-credentials": "true" }),
      vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"
    }
  }
  return undefined
}

/** Each name is compared with every pattern of every rule. */
const maximumNames = 100

/** The names in Access-Control-Request-Headers, in lower case. Throws BadRequest. */
const parseHeaderNames = (text: string | undefined): ReadonlyArray<string> => {
  const names = (text ?? "").split(",", maximumNames + 1).map((name) => name.trim().toLowerCase())
  if (names.length > maximumNames) {
    throw s3Error("BadRequest", `Access-Control-Request-Headers has more than ${maximumNames} names.`)
  }
  return [...new Set(names)].filter((name) => name !== "")
}
