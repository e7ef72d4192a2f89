import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { KoaContextWithOIDC } from "oidc-provider"
import { Gone } from "../../../domain/errors.ts"
import { endSessions } from "../../../domain/oauth2/Revocations.ts"
import { type OAuth2 } from "../../ports/OAuth2.ts"
import { unknownChallenge } from "./Challenges.ts"
import { clientOf } from "./clients/ClientFields.ts"
import { libraryCall } from "./Library.ts"
import { tokenHashOf, type OAuth2Store } from "./Store.ts"

type Port = OAuth2["Service"]

interface StoredLogout {
  readonly session_uid: string
  readonly subject: string
  readonly client_id: string | null
  readonly gone: boolean
}

/** How long a user may take to answer, in s. */
const pendingSeconds = 3_600

const challengeText = /^[\w-]{1,100}$/
const gone = new Gone({ error: "The sign-out has expired or was already confirmed", code: "CHALLENGE_EXPIRED" })

/**
 * Begins a sign-out: stores it, and redirects to the bridge. Returns its challenge. Only an ID token of the signed-in
 * user proves that a client began it; with another's, any page could sign the user out.
 */
export const beginLogout = async ({ ask, sql }: OAuth2Store, ctx: KoaContextWithOIDC, returnTo: string) => {
  const challenge = randomBytes(32).toString("base64url")
  const { client, entities, session } = ctx.oidc
  const proven = entities.IdTokenHint?.payload["sub"] === session?.accountId
  await ask(sql`
    insert into svc.oauth2_logouts (id, session_uid, subject, client_id, return_to, expires_at)
    values (${tokenHashOf(challenge)}, ${session?.uid ?? ""}, ${session?.accountId ?? ""},
            ${proven ? (client?.clientId ?? null) : null}, ${returnTo},
            now() + make_interval(secs => ${pendingSeconds}))`)
  return challenge
}

/** The URL after an accepted sign-out; undefined for an unknown or used verifier. */
export const endLogout = async ({ ask, sql }: OAuth2Store, verifier: string) => {
  const [row] = await ask(sql<{ return_to: string }>`
    update svc.oauth2_logouts set verifier = null where verifier = ${tokenHashOf(verifier)} returning return_to`)
  return row?.return_to
}

/** Pending sign-outs, by their challenges. */
export const logoutsOn = ({ client, noticesDue, own, sql }: OAuth2Store, issuer: string) => {
  const find = Effect.fnUntraced(function* (challenge: string) {
    if (!challengeText.test(challenge)) return yield* unknownChallenge
    const [row] = yield* own(sql<StoredLogout>`
      select session_uid, subject, client_id, done_at is not null or expires_at <= now() as gone
      from svc.oauth2_logouts where id = ${tokenHashOf(challenge)}`)
    if (row === undefined) return yield* unknownChallenge
    return row.gone ? yield* gone : row
  })

  const logoutRequest: Port["logoutRequest"] = Effect.fn("OAuth2.logoutRequest")(function* (challenge) {
    const { client_id, subject } = yield* find(challenge)
    const registered = client_id === null ? undefined : yield* libraryCall(() => client(client_id))
    return {
      challenge,
      subject,
      rpInitiated: client_id !== null,
      client: registered === undefined ? null : clientOf(registered)
    }
  })

  const acceptLogout: Port["acceptLogout"] = Effect.fn("OAuth2.acceptLogout")(function* (challenge) {
    const { session_uid } = yield* find(challenge)
    const verifier = randomBytes(32).toString("base64url")
    const accepted = yield* own(sql`
      update svc.oauth2_logouts set done_at = now(), verifier = ${tokenHashOf(verifier)}
      where id = ${tokenHashOf(challenge)} and done_at is null returning id`)
    if (accepted.length === 0) return yield* gone
    yield* own(sql.unsafe(endSessions("uid = $1"), [session_uid]))
    yield* noticesDue.open
    return { redirectTo: `${issuer}/oauth2/sessions/logout?logout_verifier=${verifier}` }
  })

  const rejectLogout: Port["rejectLogout"] = Effect.fn("OAuth2.rejectLogout")(function* (challenge) {
    yield* find(challenge)
    yield* own(sql`delete from svc.oauth2_logouts where id = ${tokenHashOf(challenge)}`)
  })

  return { logoutRequest, acceptLogout, rejectLogout }
}
