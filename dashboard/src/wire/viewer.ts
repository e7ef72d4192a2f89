/** Whose eyes a statement runs with: the service's, or those of a caller under row-level security. */
export interface Viewer {
  readonly role: "service_role" | "authenticated" | "anon"
  readonly sub: string
  /** Further claims, a JSON object. */
  readonly claims: string
}

export const service: Viewer = { role: "service_role", sub: "", claims: "{}" }

/** A caller in an address: `anon`, `user`, `user:<sub>`, or as JSON if there are further claims. */
export const viewerText = ({ claims, role, sub }: Viewer): string | undefined => {
  if (role === "service_role") return undefined
  if (role === "anon") return "anon"
  const more = JSON.parse(claims) as object
  if (Object.keys(more).length > 0) return JSON.stringify({ sub, claims: more })
  return sub === "" ? "user" : `user:${sub}`
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The reverse; undefined for any other text. */
export const viewerOf = (text: string): Viewer | undefined => {
  if (text === "anon") return { role: "anon", sub: "", claims: "{}" }
  if (text === "user") return { role: "authenticated", sub: "", claims: "{}" }
  if (text.startsWith("user:")) return { role: "authenticated", sub: text.slice(5), claims: "{}" }
  try {
    const { claims, sub, ...others } = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (typeof sub !== "string" || !isObject(claims) || Object.keys(others).length > 0) return undefined
    return { role: "authenticated", sub, claims: JSON.stringify(claims) }
  } catch {
    return undefined
  }
}

/** The statements before those of the user, which make the transaction that of a caller. */
export const viewerStatements = ({ claims, role, sub }: Viewer) => {
  if (role === "service_role") return []
  // An anon key comes without a token, and so without claims of a user.
  const user = role === "anon" ? {} : { ...(JSON.parse(claims) as object), ...(sub === "" ? {} : { sub }) }
  const all = JSON.stringify({ ...user, role })
  const settings =
    "select set_config('request.jwt.sub', $1, true), set_config('request.jwt.claims', $2, true), set_config('role', $3, true)"
  return [{ sql: settings, params: [role === "anon" ? "" : sub, all, role] }]
}

/** The header by which rows are read as that caller; see ViewAs.ts of the service. */
export const viewerHeaders = ({ claims, role, sub }: Viewer): Readonly<Record<string, string>> =>
  role === "service_role"
    ? {}
    : { "x-svc-view-as": encodeURIComponent(JSON.stringify({ role, sub, claims: JSON.parse(claims) as object })) }

/** The credentials of that caller in a command, as variables. */
export const viewerCredentials = ({ role }: Viewer) =>
  role === "service_role"
    ? '-H "apikey: $SERVICE_KEY"'
    : `-H "apikey: $ANON_KEY"${role === "anon" ? "" : ' -H "authorization: Bearer $USER_TOKEN"'}`

export const viewerName = ({ role, sub }: Viewer) =>
  role === "service_role" ? "service" : role === "anon" ? "anon" : sub === "" ? "a user" : `user ${sub}`
