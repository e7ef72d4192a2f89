/** Credentials that are wrong. */
import { createHash } from "node:crypto"
import { request } from "../client.ts"
import { type Pattern, reads, requests } from "../pattern.ts"

/** Of the form of a key. */
const unknownKey = (n: number) => `svc_pk_${createHash("sha256").update(String(n)).digest("base64url")}`
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
const jwtHead = encoded({ alg: "HS256", typ: "JWT" })
const garbage = "x".repeat(5_000)

const withKey = (key: (n: number) => string) =>
  requests(() => (n) => request("GET", "/v1/db/probed?id=eq.1", { apikey: key(n) }))

export const access: ReadonlyArray<Pattern> = [
  {
    name: "unknown-keys",
    title: "keys of the right form that do not exist, each another",
    attack: withKey(unknownKey)
  },
  { name: "malformed-keys", title: "keys of 30 KB", attack: withKey((n) => `${"x".repeat(30_000)}${n}`) },
  {
    name: "no-key",
    title: "requests without a key",
    attack: requests(() => () => request("GET", "/v1/db/probed?id=eq.1", {}))
  },
  {
    name: "garbage-jwts",
    title: "JWTs of 7 KB with a wrong signature, each another",
    attack: reads(
      () => "/v1/db/probed?id=eq.1",
      (n) => ({ authorization: `Bearer ${jwtHead}.${encoded({ sub: String(n), garbage })}.${unknownKey(n).slice(7)}` })
    )
  },
  {
    name: "management",
    title: "management requests with an anon key",
    attack: reads((n) => ["/api/keys", "/api/webhooks", "/v1/status", "/v1/database/schema"][n % 4] ?? "")
  }
]
