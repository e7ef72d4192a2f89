import { Effect } from "effect"
import { logFailure } from "../../OwnTables.ts"
import { CurrentMeters } from "../../metrics/Meters.ts"
import { type Library, libraryCall } from "./Library.ts"
import { type OAuth2Store } from "./Store.ts"

/** Pauses after failed attempts, in s; then a notice is given up. */
const pauses = [5, 30, 300, 1_800]
/** How long an attempt is left to one replica, in s; the library ends it after 2.5 s. */
const claimSeconds = 30
/** How long to wait for the next one: accounts that are taken back list theirs without opening the latch. */
const idle = "5 seconds"
/** Clients that are notified at once, each of one session: none waits for those that answer slowly. */
const clients = 20

interface Notice {
  readonly id: string
  readonly client_id: string
  readonly subject: string
  readonly sid: string
  readonly attempts: number
}

const dueSql = `
  update svc.oauth2_logout_notices set attempts = attempts + 1, due_at = now() + interval '${claimSeconds} s'
  where due_at <= now() and id in (
    select min(id) from svc.oauth2_logout_notices where due_at <= now() group by client_id order by min(due_at) limit ${clients})
  returning id::text, client_id, subject, sid, attempts`

/** The innermost message of a failure, in one line: those around it say only that a request has failed. */
const reasonOf = (cause: unknown): string => {
  const below = cause instanceof AggregateError ? cause.errors.at(-1) : cause instanceof Error ? cause.cause : undefined
  if (below !== undefined) return reasonOf(below)
  return (cause instanceof Error ? cause.message : String(cause)).replaceAll(/\s+/g, " ").slice(0, 300)
}

/**
 * Notifies clients that a session has ended (OpenID Connect Back-Channel Logout 1.0), each by one replica at a time. Each
 * attempt sends a new token, because a token is valid for two minutes.
 */
export const keepNotifying = Effect.fnUntraced(function* ({ noticesDue, own, sql }: OAuth2Store, library: Library) {
  const meters = yield* CurrentMeters
  const [succeeded, failed] = (["succeeded", "failed"] as const).map((outcome) =>
    meters.counter("svc_oauth2_logout_notices_total", { outcome })
  ) as [() => void, () => void]

  const send = Effect.fnUntraced(function* ({ client_id, sid, subject }: Notice) {
    const { provider } = yield* library
    const client = yield* libraryCall(() => provider.Client.find(client_id))
    const post = client?.["backchannelLogout"]
    if (client?.backchannelLogoutUri === undefined || typeof post !== "function") return
    yield* Effect.tryPromise(() => post.call(client, subject, sid) as Promise<void>)
    succeeded()
  })

  const notify = Effect.fnUntraced(function* (notice: Notice) {
    const { attempts, client_id, id } = notice
    const pause = pauses[attempts - 1]
    const sent = yield* Effect.match(send(notice), { onFailure: (cause) => ({ cause }), onSuccess: () => undefined })
    if (sent !== undefined) {
      failed()
      const next = pause === undefined ? "there will be no other attempt" : `the next attempt is in ${pause} s`
      const reason = reasonOf(sent.cause)
      yield* Effect.logWarning(`Failed to notify the client ${client_id} of a sign-out: ${reason}; ${next}`)
    }
    yield* own(
      sent === undefined || pause === undefined
        ? sql`delete from svc.oauth2_logout_notices where id = ${id}::text::bigint`
        : sql`update svc.oauth2_logout_notices set due_at = now() + make_interval(secs => ${pause}) where id = ${id}::text::bigint`
    )
  })

  /** Whether there were any. */
  const notifyDue = Effect.gen(function* () {
    const due = yield* own(sql.unsafe<Notice>(dueSql))
    yield* Effect.forEach(due, notify, { concurrency: "unbounded", discard: true })
    return due.length > 0
  })

  return yield* noticesDue.close.pipe(
    Effect.andThen(notifyDue),
    Effect.catchCause((cause) => Effect.as(logFailure("Failed to notify clients of sign-outs")(cause), false)),
    Effect.flatMap((found) => (found ? Effect.void : Effect.timeoutOption(noticesDue.await, idle))),
    Effect.forever
  )
})
