import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import { type Person, type Session, type State } from "./state.ts"

/** A request as the pages need it. */
export interface Call {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: ReadonlyMap<string, string>
  readonly body: Readonly<Record<string, unknown>>
  /** Whether its Accept prefers JSON; a browser that opens a page does not. */
  readonly json: boolean
  readonly ip: string
}

export interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly cookies?: ReadonlyArray<string>
}

/** A response that a handler throws. */
export class Refused extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super(`refused: ${reply.status}`)
    this.reply = reply
  }
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  410: "Gone",
  422: "Unprocessable Entity",
  500: "Internal Server Error"
}

interface Failure {
  readonly status: number
  readonly reason: string
  readonly id?: string
  /** Top-level fields beside `error`. */
  readonly more?: Readonly<Record<string, unknown>>
}

export const failure = ({ id, more, reason, status }: Failure): Refused => {
  const title = titles[status] ?? "Error"
  const error = { ...(id === undefined ? {} : { id }), code: status, status: title, reason, message: title }
  return new Refused({ status, body: { error, ...more } })
}

/** Kratos's text for a missing resource. */
export const missing = () => new Refused({ status: 404, body: { error: { code: 404, message: "Unable to locate" } } })

export const redirect = (url: string, cookies: ReadonlyArray<string> = []): Reply => ({
  status: 303,
  headers: { location: url },
  cookies
})

/** Redirects a browser that requested JSON. */
export const elsewhere = (url: string) =>
  failure({
    status: 422,
    id: "browser_location_change_required",
    reason: `In order to complete this flow please redirect the browser to: ${url}`,
    more: { redirect_browser_to: url }
  })

// Double-submit CSRF protection: a cookie, and a token in the body.

const csrfCookie = (state: State) => `csrf_token_${createHash("sha256").update(state.baseUrl).digest("hex")}`

/** The value of a valid CSRF cookie. */
export const csrfOf = (state: State, call: Call) => {
  const value = call.cookies.get(csrfCookie(state))
  return value !== undefined && /^[A-Za-z0-9+/]{43}=$/.test(value) ? value : undefined
}

/** The CSRF pair of a request: its own, or a new one with its Set-Cookie line. */
export const csrfPair = (state: State, call: Call): { readonly value: string; readonly cookies: Array<string> } => {
  const value = csrfOf(state, call)
  if (value !== undefined) return { value, cookies: [] }
  const fresh = randomBytes(32).toString("base64")
  return { value: fresh, cookies: [`${csrfCookie(state)}=${fresh}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax`] }
}

/** The token in a form: a different text each time. */
export const masked = (value: string) => {
  const raw = Buffer.from(value, "base64")
  const key = randomBytes(32)
  return Buffer.concat([key, key.map((byte, index) => byte ^ raw[index]!)]).toString("base64")
}

const unmasked = (sent: Buffer) =>
  sent.length === 64 ? Buffer.from(sent.subarray(32).map((byte, index) => byte ^ sent[index]!)) : sent

export const csrfViolation = () =>
  failure({ status: 403, id: "security_csrf_violation", reason: "Please retry the flow and clear your cookies" })

/** Compares cookie and body, but not the flow. */
export const checkCsrf = (state: State, call: Call) => {
  const value = csrfOf(state, call)
  const sent = unmasked(Buffer.from(String(call.body["csrf_token"] ?? ""), "base64"))
  const wanted = Buffer.from(value ?? "", "base64")
  if (value === undefined || sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) throw csrfViolation()
}

// Sessions.

const sessionCookie = "idp_session"

export const setSession = (state: State, session: Session) => {
  const seconds = Math.max(1, Math.round((session.expiresAt - Date.now()) / 1000))
  return `${sessionCookie}=${state.cookieOf(session)}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`
}

/** Kratos assigns it a value nevertheless. */
export const dropSession = `${sessionCookie}=none; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`

/** In Kratos's order: token, cookie, Bearer. A token with an unreadable cookie is a separate error. */
export const sessionOf = (state: State, call: Call): Session | undefined => {
  const cookie = call.cookies.get(sessionCookie)
  const id = cookie === undefined ? undefined : state.readCookie(cookie)
  const given = call.headers["x-session-token"]
  if (given !== undefined && cookie !== undefined && id === undefined)
    throw failure({ status: 500, reason: "securecookie: base64 decode failed" })
  const token = given ?? (cookie === undefined ? call.headers["authorization"]?.replace(/^bearer /i, "") : undefined)
  const found =
    token === undefined
      ? state.sessions.get(id ?? "")
      : [...state.sessions.values()].find((session) => session.token === token)
  return state.alive(found)
}

/** 401 of whoami and flows; forms return `session_inactive`. */
export const needSession = (state: State, call: Call, id?: string) => {
  const session = sessionOf(state, call)
  if (session !== undefined) return session
  throw failure({ status: 401, reason: "No valid session credentials found in the request.", ...(id && { id }) })
}

/** The URL where a browser uses its second factor. */
export const aal2Url = (state: State) => `${state.baseUrl}self-service/login/browser?aal=aal2`

export const needFactor = (state: State, session: Session) => {
  if (!state.owesFactor(session)) return
  throw failure({
    status: 403,
    id: "session_aal2_required",
    reason: "An active session was found but it does not fulfil the requested Authenticator Assurance Level.",
    more: { redirect_browser_to: aal2Url(state) }
  })
}

export const iso = (ms: number) => new Date(ms).toISOString()

export const identityJson = (person: Person) => ({
  id: person.id,
  schema_id: person.schemaId,
  state: person.state,
  traits: person.traits,
  verifiable_addresses: person.addresses.map(({ id, value, verified }) => ({ id, value, verified, via: "email" })),
  recovery_addresses: person.addresses.map(({ id, value }) => ({ id, value, via: "email" })),
  metadata_public: person.metadataPublic ?? null,
  created_at: person.createdAt,
  updated_at: person.updatedAt,
  organization_id: null
})

export const sessionJson = (session: Session) => ({
  id: session.id,
  active: true,
  expires_at: iso(session.expiresAt),
  authenticated_at: iso(session.authenticatedAt),
  authenticator_assurance_level: session.aal,
  authentication_methods: session.methods,
  issued_at: iso(session.issuedAt),
  identity: identityJson(session.person),
  devices: [{ id: randomUUID(), ip_address: session.device.ip, user_agent: session.device.userAgent, location: "" }]
})

/** The identity that a session was started for. */
export const deviceOf = ({ headers, ip }: Call) => ({
  ip: headers["true-client-ip"] ?? headers["x-forwarded-for"]?.split(",")[0]?.trim() ?? ip,
  userAgent: headers["user-agent"] ?? ""
})
