import { Redacted } from "effect"
import { functionOfUrl } from "../../functions/Function.ts"

/** Hooks of sign-ins, by the names of their settings at Supabase. */
export const hookNames = [
  "BEFORE_USER_CREATED",
  "AFTER_USER_CREATED",
  "CUSTOM_ACCESS_TOKEN",
  "PASSWORD_VERIFICATION_ATTEMPT",
  "MFA_VERIFICATION_ATTEMPT",
  "SEND_EMAIL"
] as const
export type HookName = (typeof hookNames)[number]

/** The names of their events. */
export const hookEvents: Readonly<Record<HookName, string>> = {
  BEFORE_USER_CREATED: "before-user-created",
  AFTER_USER_CREATED: "after-user-created",
  CUSTOM_ACCESS_TOKEN: "customize-access-token",
  PASSWORD_VERIFICATION_ATTEMPT: "password-verification",
  MFA_VERIFICATION_ATTEMPT: "mfa-verification",
  SEND_EMAIL: "send-email"
}

/** What runs when a hook is called. */
export type HookTarget =
  | { readonly _tag: "SqlFunction"; readonly schema: string; readonly name: string }
  /** A function of this service. Its requests are signed if there are secrets. */
  | { readonly _tag: "DenoFunction"; readonly name: string; readonly secrets: ReadonlyArray<Redacted.Redacted> }
  | {
      readonly _tag: "HttpEndpoint"
      readonly url: string
      /** `whsec_…`. A request has a signature by each, so that a receiver can change to another one. */
      readonly secrets: ReadonlyArray<Redacted.Redacted>
    }

const sqlFunction = /^pg-functions:\/\/postgres\/([a-zA-Z_]\w{0,62})\/([a-zA-Z_]\w{0,62})$/
/** 24 to 64 bytes, as Standard Webhooks demands. */
const secretForm = /^v1,(whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=))?)$/
const localHosts = new Set(["localhost", "127.0.0.1", "[::1]", "host.docker.internal"])

const accepted =
  "must be pg-functions://postgres/<schema>/<function>, the name of a function in the database, function://<name>, that of a function in Deno, or an https:// URL"

/** The secrets of a text that separates them by `|`, without `v1,`; undefined if one of them has another form. */
export const readHookSecrets = (text: string): ReadonlyArray<Redacted.Redacted> | undefined => {
  const given = text.split("|").filter((part) => part !== "")
  const keys = given.flatMap((secret) => secretForm.exec(secret)?.[1] ?? [])
  return keys.length === 0 || keys.length < given.length ? undefined : keys.map((key) => Redacted.make(key))
}

/** The target of a URI, or what is wrong with it. */
export const readHookTarget = (uri: string, secrets: ReadonlyArray<Redacted.Redacted>): HookTarget | string => {
  const [, schema, name] = sqlFunction.exec(uri) ?? []
  if (schema !== undefined && name !== undefined) return { _tag: "SqlFunction", schema, name }
  const code = functionOfUrl(uri)
  if (code !== undefined) return { _tag: "DenoFunction", name: code, secrets }
  if (!URL.canParse(uri)) return accepted
  const url = new URL(uri)
  if (url.protocol !== "https:" && url.protocol !== "http:") return accepted
  if (url.protocol === "http:" && !localHosts.has(url.hostname)) {
    return "must be https://; only localhost, 127.0.0.1, [::1] and host.docker.internal may be http://"
  }
  if (url.username !== "" || url.password !== "") {
    return "must not contain a user or a password: the receiver verifies the signature"
  }
  return { _tag: "HttpEndpoint", url: url.href, secrets }
}

/** A target as logs name it. The query of a URL may contain a key. */
export const hookUri = (target: HookTarget) => {
  if (target._tag === "SqlFunction") return `pg-functions://postgres/${target.schema}/${target.name}`
  if (target._tag === "DenoFunction") return `function://${target.name}`
  const { origin, pathname } = new URL(target.url)
  return `${origin}${pathname}`
}
