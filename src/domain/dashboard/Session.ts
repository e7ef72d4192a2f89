import { Schema } from "effect"
import { hash, randomBytes } from "node:crypto"

/** A session that is not used for 12 hours ends, and any after 7 days. */
export const idleSql = "interval '12 hours'"
export const lifetimeSql = "interval '7 days'"
export const lifetimeSeconds = 7 * 24 * 3600
/** How long a sign-in link is valid. */
export const linkSql = "interval '10 minutes'"

/** The person who is signed in, as the histories record it. */
export const DashboardUser = Schema.Struct({
  author: Schema.Union([
    Schema.Struct({ type: Schema.Literal("key"), id: Schema.Int, label: Schema.String }),
    Schema.Struct({ type: Schema.Literal("identity"), id: Schema.String, label: Schema.String })
  ]),
  /** Null for an API key, which does not expire. */
  expires_at: Schema.NullOr(Schema.DateTimeUtcFromString)
})

/** A new token of a session or a link: 32 random bytes in base64url. */
export const makeToken = () => randomBytes(32).toString("base64url")

/** Whether a text has the form of a token; anything else needs no look-up. */
export const looksLikeToken = (text: string) => /^[\w-]{43}$/.test(text)

/** The stored hash of a token: its SHA-256 in lower-case hex. */
export const tokenHash = (token: string) => hash("sha256", token, "hex")
