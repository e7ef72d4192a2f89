import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { type HttpApiEndpoint, HttpApiError, type HttpApiGroup } from "effect/http-api"
import { LRUCache } from "lru-cache"
import { type AuditActor } from "../../domain/audit/Entry.ts"
import { type Author } from "../../domain/Author.ts"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"
import { type ClientError, isClientError } from "../../domain/errors.ts"
import { Audit } from "../../services/audit/Audit.ts"
import { type AuditRow, type AuditedChange, CurrentChange } from "../../services/audit/Change.ts"
import { type Session } from "../../services/identity/Sessions.ts"
import { bearerOf } from "./Credentials.ts"
import { authorOf, CurrentRequest, type ServedRequest } from "./ServedRequest.ts"
import { frameworkFailure, knownFailure } from "../wire/ErrorBodies.ts"

/** An endpoint, as its middleware receives it. */
export interface AuditedEndpoint {
  readonly endpoint: Pick<HttpApiEndpoint.Top, "identifier" | "method">
  readonly group: Pick<HttpApiGroup.Top, "identifier">
}

/** The first part of actions, and of subjects, by the group of the API. */
const nouns: Readonly<Record<string, string>> = {
  keys: "key",
  realtime: "realtime",
  webhooks: "webhook",
  schedules: "schedule",
  queues: "queue",
  functions: "function",
  storage: "bucket",
  storageObjects: "object",
  storageUploads: "object",
  flagChanges: "flag",
  accountAdmin: "identity",
  supabaseUsers: "identity",
  supabaseBuckets: "file_bucket",
  oauth2Admin: "oauth2",
  oauth2Consents: "consent",
  environments: "environment",
  connections: "connection",
  foreignData: "foreign",
  branches: "branch",
  branchRows: "branch",
  branchSchemas: "branch",
  backups: "backup",
  migrations: "migration"
}

/** Requests that change nothing by themselves: addresses to upload to or download from, previews, tests. */
const unrecorded = new Set([
  "storageObjects.presignUpload",
  "storageObjects.presignUploads",
  "storageObjects.presignDownload",
  "storageUploads.create",
  "storageUploads.presignPart",
  "connections.test",
  "workspace.addHistory",
  "workspace.clearHistory",
  "insights.advise",
  "oauth2Admin.previewClaims"
])
/** Reads of whole databases and of password hashes. */
const recordedReads = new Set(["accountAdmin.export", "backups.file", "backups.globals"])

/** The action of an endpoint, such as `oauth2.set_client`; undefined if the audit does not record it. */
export const actionOf = ({ endpoint, group }: AuditedEndpoint): string | undefined => {
  const name = `${group.identifier}.${endpoint.identifier}`
  const isRead = endpoint.method === "GET" || endpoint.method === "HEAD"
  if (isRead ? !recordedReads.has(name) : unrecorded.has(name)) return undefined
  const action = endpoint.identifier.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return `${nouns[group.identifier] ?? group.identifier}.${action}`
}

/** Entries of refused attempts in a minute by this process, and by one caller for one action: anyone can cause them. */
const [maxRefused, maxSame] = [60, 3]
/** Sessions of administrators that are remembered. */
const maxSessions = 1_000

const actorOf = ({ id, label, type }: Author | AuditActor): AuditActor => ({ type, id: String(id), label })
const unknown: AuditActor = { type: "unknown", id: "", label: "" }

/** The key that admitted a request. Those in the form of a JWT (SVC_SUPABASE_JWT_KEYS) have no record. */
export const keyActorOf = ({ credential }: ServedRequest): AuditActor =>
  credential?._tag === "Key" ? actorOf(authorOf(credential)) : { type: "key", id: "", label: "JWT" }

/** Records the requests that change something by the management API. */
export class ManagementAudit extends Context.Service<
  ManagementAudit,
  {
    /** Runs a management request, and records what it changes and how it ended, unless a transaction has done so. */
    readonly around: <A, E, R>(
      app: Effect.Effect<A, E, R>,
      place: AuditedEndpoint,
      author: Author | AuditActor
    ) => Effect.Effect<A, E, R>
    /** Records that a caller with a key or a session may not do this; those without are for the access log. */
    readonly refused: (place: AuditedEndpoint, error: ClientError) => Effect.Effect<void>
    /** Runs an attempt to sign in to the dashboard, or to sign out, and records how it ended. */
    readonly signing: <A, E, R>(attempt: Effect.Effect<A, E, R>, action: string) => Effect.Effect<A, E, R>
    /** Records an administrator's session of the identity provider when it first uses the management API. */
    readonly began: (session: Session) => Effect.Effect<void>
  }
>()("svc/http/ManagementAudit") {
  static readonly layer = Layer.effect(
    ManagementAudit,
    Effect.gen(function* () {
      const audit = yield* Audit
      const sessions = new LRUCache<string, true>({ max: maxSessions })
      let minute = 0
      const counts = new Map<string, number>()

      /** Whether the limits allow to record another attempt. */
      const counted = (same: string, now: number) => {
        if (Math.floor(now / 60_000) !== minute) {
          minute = Math.floor(now / 60_000)
          counts.clear()
        }
        const [all, one] = [counts.get("") ?? 0, counts.get(same) ?? 0]
        if (all >= maxRefused || one >= maxSame) return false
        counts.set("", all + 1)
        counts.set(same, one + 1)
        return true
      }
      const writeAttempt = (row: AuditRow) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          counted(`${row.actor.id || row.address} ${row.action}`, now) ? audit.write(row) : Effect.void
        )

      const changeOf = (
        { address, headers, id }: ServedRequest,
        action: string,
        subject: string,
        actor: AuditActor
      ): AuditedChange => ({
        actor,
        action,
        subject,
        before: null,
        after: null,
        recorded: false,
        // A request that sends no key itself used the dashboard's cookie.
        dashboard: [headers["apikey"], headers["x-api-key"], bearerOf(headers)].every((given) => given === undefined),
        request_id: id,
        address
      })
      const subjectOf = ({ group }: AuditedEndpoint, params: Readonly<Record<string, string | undefined>>) =>
        [nouns[group.identifier] ?? group.identifier, Object.values(params).join("/")].filter(Boolean).join(":")

      const rowOf = (change: AuditedChange, exit: Exit.Exit<unknown, unknown>): AuditRow => ({
        ...change,
        ...(Exit.isSuccess(exit) ? { outcome: "done", status: null, code: null } : failureOf(exit.cause))
      })

      return ManagementAudit.of({
        around: (app, place, author) => {
          const action = actionOf(place)
          if (action === undefined) return app
          return Effect.flatMap(
            Effect.all([CurrentRequest, Effect.serviceOption(HttpRouter.RouteContext)]),
            ([request, route]) => {
              const params = route._tag === "Some" ? route.value.params : {}
              const change = changeOf(request, action, subjectOf(place, params), actorOf(author))
              return Effect.onExit(Effect.provideService(app, CurrentChange, change), (exit) =>
                change.recorded && Exit.isSuccess(exit) ? Effect.void : audit.write(rowOf(change, exit))
              )
            }
          )
        },
        refused: (place, { code, status }) =>
          Effect.flatMap(CurrentRequest, (request) => {
            const action = actionOf(place)
            const { credential } = request
            if (action === undefined || status !== 403 || credential === undefined) return Effect.void
            const actor = actorOf(authorOf(credential))
            const shown = credential._tag === "Key" ? actor : { ...actor, label: "" }
            const change = changeOf(request, action, subjectOf(place, {}), shown)
            return writeAttempt({ ...change, outcome: "refused", status, code })
          }),
        signing: (attempt, action) =>
          Effect.flatMap(CurrentRequest, (request) => {
            const change: AuditedChange = { ...changeOf(request, action, "dashboard", unknown), dashboard: true }
            return Effect.onExit(Effect.provideService(attempt, CurrentChange, change), (exit) => {
              if (Exit.isSuccess(exit) && (change.recorded || change.actor === unknown)) return Effect.void
              const row = rowOf(change, exit)
              // A failure of the service is not recorded as an attempt.
              if (row.outcome === "failed" && (row.status ?? 500) < 500)
                return writeAttempt({ ...row, outcome: "refused" })
              return row.outcome === "failed" ? Effect.void : audit.write(row)
            })
          }),
        began: (session) => {
          if (sessions.has(session.id)) return Effect.void
          sessions.set(session.id, true)
          const { aal, authenticated_at, id, methods } = session
          const actor = actorOf(authorOf({ _tag: "Session", session }))
          const after = { aal, methods: methods.map(String), authenticated_at }
          return Effect.flatMap(CurrentRequest, (request) => {
            const change = changeOf(request, "session.sign_in", `session:${id}`, actor)
            return audit.write({ ...change, after, outcome: "done", status: null, code: null })
          })
        }
      })
    })
  )
}

/** Middleware with a security scheme gets an endpoint's errors wrapped. */
const endpointError = (error: unknown): unknown =>
  typeof error === "object" && error !== null && !isClientError(error) && "error" in error ? error.error : error

/** How a request ended that did not succeed. */
const failureOf = (given: Cause.Cause<unknown>) => {
  const cause = Cause.map(given, endpointError)
  const failed = (status: number, code: ErrorCode | "DISCONNECTED") => ({ outcome: "failed", status, code }) as const
  const known = knownFailure(cause)
  if (known !== undefined) return failed(known.status, known.code)
  const isInvalid = cause.reasons.some(
    (reason) => reason._tag === "Fail" && HttpApiError.HttpApiSchemaError.is(reason.error)
  )
  const framework = frameworkFailure(cause)
  if (framework === "size") return failed(413, "PAYLOAD_TOO_LARGE")
  if (isInvalid || framework !== undefined) return failed(400, "INVALID_REQUEST")
  // The change may have been made although the client disconnected.
  return Exit.hasInterrupts(Exit.failCause(cause)) ? failed(499, "DISCONNECTED") : failed(500, "INTERNAL_ERROR")
}
