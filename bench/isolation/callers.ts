import { createHmac } from "node:crypto"

/** A running service and a superuser's login to its database, in which nothing but the run happens. */
export interface Target {
  readonly url: string
  readonly anon: string
  readonly service_role: string
  readonly jwtSecret: string
  readonly databaseUrl: string
}

/**
 * | kind | API key | JWT |
 * |---|---|---|
 * | user | anon | its own `sub` |
 * | anonymous | anon | none |
 * | service | service_role | none |
 * | claiming | service_role | its own `sub` |
 */
export type CallerKind = "user" | "anonymous" | "service" | "claiming"

export interface Caller {
  readonly kind: CallerKind
  /** Owner of the rows that it inserts and, unless a service key bypasses policies, sees; empty without a JWT. */
  readonly sub: string
  readonly headers: Readonly<Record<string, string>>
  /** Ids and versions of the rows that it has inserted for sure, and whose last change is confirmed, by table. */
  readonly kept: Map<string, Map<number, number>>
  /** Whether one of its requests is under way. */
  busy: boolean
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** An HS256 token that is valid for a day. */
export const signedToken = (secret: string, sub: string) => {
  const exp = Math.floor(Date.now() / 1000) + 86_400
  const input = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url({ sub, exp, role: "authenticated" })}`
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`
}

export const userName = (n: number) => `u${n}`

/** `users` users, and callers of the other kinds: one for every ten users, at least two. */
export const makeCallers = ({ anon, jwtSecret, service_role }: Target, users: number): ReadonlyArray<Caller> => {
  const caller = (kind: CallerKind, sub: string): Caller => ({
    kind,
    sub,
    headers: {
      apikey: kind === "user" || kind === "anonymous" ? anon : service_role,
      ...(sub === "" ? {} : { authorization: `Bearer ${signedToken(jwtSecret, sub)}` })
    },
    kept: new Map(),
    busy: false
  })
  const others = Array.from({ length: Math.max(2, Math.floor(users / 10)) }, (_, n) => n)
  return [
    ...Array.from({ length: users }, (_, n) => caller("user", userName(n))),
    ...others.map(() => caller("anonymous", "")),
    ...others.map(() => caller("service", "")),
    ...others.map((n) => caller("claiming", `s${n}`))
  ]
}
