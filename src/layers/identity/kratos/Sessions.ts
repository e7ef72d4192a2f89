import { Effect, Redacted, Schema } from "effect"
import { NotFound } from "../../../domain/errors.ts"
import {
  type Credential,
  type Identity,
  type IdentitySession,
  type SessionSummary
} from "../../../domain/identity/Identity.ts"
import { isoTime } from "../../../domain/text/IsoTime.ts"
import { decoded, type Kratos, type KratosCall, relayed, kratosUnauthenticated } from "./Client.ts"
import { isFlowId } from "./Flows.ts"
import { sessionRefused } from "./Refusal.ts"
import { type WireIdentity, WireSession, WireSessionSummary } from "./Wire.ts"

/** Maximum number of sessions that are listed. */
const maxSessions = 500

export const identityOf = (wire: WireIdentity): Identity => ({
  id: wire.id,
  state: wire.state === "inactive" ? "inactive" : "active",
  schema_id: wire.schema_id,
  traits: wire.traits ?? {},
  metadata_public: wire.metadata_public ?? {},
  addresses: (wire.verifiable_addresses ?? [])
    .filter(({ via }) => via === "email")
    .map(({ value, verified }) => ({ value, verified })),
  created_at: isoTime(wire.created_at ?? null),
  updated_at: isoTime(wire.updated_at ?? null)
})

const aalOf = (level: string) => (level === "aal2" || level === "aal3" ? "aal2" : "aal1")

const timesOf = ({ authenticated_at, expires_at, issued_at }: WireSession | WireSessionSummary) => ({
  authenticated_at: isoTime(authenticated_at),
  issued_at: isoTime(issued_at),
  expires_at: isoTime(expires_at)
})

export const sessionOf = (wire: WireSession): IdentitySession => ({
  id: wire.id,
  identity: identityOf(wire.identity),
  aal: aalOf(wire.authenticator_assurance_level),
  methods: [...new Set((wire.authentication_methods ?? []).map(({ method }) => method))],
  ...timesOf(wire)
})

/** Removes the port, which Kratos stores unless a proxy sent the client's address. */
const hostOf = (address: string) => {
  const parts = /^(?:\[(.+)\]|([\d.]+)):\d+$/.exec(address)
  return parts?.[1] ?? parts?.[2] ?? address
}

const summaryOf = (wire: WireSessionSummary, current: boolean): SessionSummary => ({
  id: wire.id,
  current,
  aal: aalOf(wire.authenticator_assurance_level),
  ...timesOf(wire),
  devices: (wire.devices ?? []).map((device) => ({
    ip_address: device.ip_address ? hostOf(device.ip_address) : null,
    user_agent: device.user_agent || null,
    location: device.location || null
  }))
})

const readSession = decoded(WireSession)
const readSummary = decoded(WireSessionSummary)
const readSummaries = decoded(Schema.NullOr(Schema.Array(WireSessionSummary)))
const readLogout = decoded(Schema.Struct({ logout_token: Schema.String }))

export const makeKratosSessions = (kratos: Kratos) => {
  /** The response of a call that must succeed. */
  const callFor = Effect.fnUntraced(function* (call: KratosCall, ...good: ReadonlyArray<number>) {
    const answer = yield* kratos.call(call)
    return good.includes(answer.status) ? answer : yield* sessionRefused(kratos, call, answer)
  })
  const whoami = (credential: Credential) => ({ method: "GET", path: "/sessions/whoami", credential }) as const

  const session = Effect.fn("IdP.session")(function* (credential: Credential) {
    const call = whoami(credential)
    const answer = yield* callFor(call, 200)
    return { session: sessionOf(yield* readSession(call, answer)), cookies: relayed(answer, credential) }
  })

  const others = Effect.fnUntraced(function* (credential: Credential) {
    const call = { method: "GET", path: `/sessions?per_page=${maxSessions}`, credential } as const
    return (yield* readSummaries(call, yield* callFor(call, 200))) ?? []
  })

  const sessions = Effect.fn("IdP.sessions")(function* (credential: Credential) {
    const call = whoami(credential)
    const current = yield* readSummary(call, yield* callFor(call, 200))
    const rest = yield* others(credential)
    return [summaryOf(current, true), ...rest.map((wire) => summaryOf(wire, false))]
  })

  const revokeSession = Effect.fn("IdP.revokeSession")(function* (credential: Credential, id: string) {
    // Kratos returns 204 also for sessions that don't exist or belong to another user.
    const known = isFlowId(id) && (yield* others(credential)).some((wire) => wire.id === id.toLowerCase())
    if (!known)
      return yield* new NotFound({ error: "There is no other session with this id", code: "SESSION_NOT_FOUND" })
    yield* callFor({ method: "DELETE", path: `/sessions/${id}`, credential }, 204)
    return undefined
  })

  const logout = Effect.fn("IdP.logout")(function* (credential: Credential) {
    if (credential._tag === "Token") {
      const body = { session_token: Redacted.value(credential.value) }
      const call = { method: "DELETE", path: "/self-service/logout/api", body } as const
      const answer = yield* kratos.call(call)
      if (answer.status === 204) return undefined
      // Kratos returns 403 for an unknown token.
      return yield* answer.status === 403 ? kratosUnauthenticated() : sessionRefused(kratos, call, answer)
    }
    const call = { method: "GET", path: "/self-service/logout/browser", credential } as const
    const { logout_token } = yield* readLogout(call, yield* callFor(call, 200))
    const path = `/self-service/logout?token=${encodeURIComponent(logout_token)}`
    yield* callFor({ method: "GET", path, credential, once: true }, 204)
    return undefined
  })

  return { session, sessions, revokeSession, logout }
}
