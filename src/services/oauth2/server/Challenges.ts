import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { Interaction, InteractionResults, Session } from "oidc-provider"
import { Gone, NotFound } from "../../../domain/errors.ts"
import { type OAuth2, type Rejection } from "../../ports/OAuth2.ts"
import { oneLine } from "../../../domain/oauth2/Text.ts"
import { clientOf } from "./clients/ClientFields.ts"
import { claimsText, isCovered } from "./Consents.ts"
import { type Library, libraryCall } from "./Library.ts"
import { audiencesIn, promptsIn, requestUrlOf, scopesIn } from "./Requests.ts"
import { tokenHashOf, type OAuth2Store } from "./Store.ts"

type Port = OAuth2["Service"]
type Kind = "login" | "consent"

/** Challenges of this server are ids of 43 characters. */
const challengeText = /^[\w-]{1,100}$/

export const unknownChallenge = new NotFound({ error: "No such challenge", code: "CHALLENGE_NOT_FOUND" })
const expired = new Gone({
  error: "The challenge has expired; start again at the application",
  code: "CHALLENGE_EXPIRED"
})

interface Answer {
  /** The audiences that were granted: a token is for these only. */
  readonly resource?: ReadonlyArray<string>
  /** Whether the browser's session is another user's, and ends. */
  readonly sessionLost?: boolean
  /** The user who answered, if any. */
  readonly subject?: string
}

/** Pending logins and consents, by their challenges. */
export const challengesOn = (store: OAuth2Store, library: Library, issuer: string) => {
  const { client, own, sql } = store

  const find = Effect.fnUntraced(function* (kind: Kind, challenge: string) {
    if (!challengeText.test(challenge)) return yield* unknownChallenge
    const [row] = yield* own(sql<{ expired: boolean; request_url: string }>`
      select expires_at <= now() or used_at is not null as expired, request_url
      from svc.oauth2_challenges where id = ${tokenHashOf(challenge)} and kind = ${kind}`)
    if (row === undefined) return yield* unknownChallenge
    const gone = new Gone({ error: expired.error, code: expired.code, redirect_to: row.request_url })
    const { provider } = yield* library
    const interaction = row.expired ? undefined : yield* libraryCall(() => provider.Interaction.find(challenge))
    if (interaction === undefined) return yield* gone
    const registered = yield* libraryCall(() => client(String(interaction.params["client_id"])))
    if (registered === undefined) return yield* gone
    return { interaction, client: clientOf(registered), provider }
  })

  /**
   * Stores the answer to a challenge. A challenge may be in other hands than those of the user who began the flow: the answer is
   * valid only with the verifier in this redirect, and only in the browser with the cookie of the beginning (Resume.ts).
   */
  const finish = Effect.fnUntraced(function* (
    { exp, uid }: Interaction,
    result: InteractionResults,
    { resource, sessionLost = false, subject }: Answer = {}
  ) {
    const verifier = randomBytes(32).toString("base64url")
    yield* own(
      sql.unsafe(
        `with request as (update svc.oauth2_challenges set subject = $7 where id = $2)
         insert into svc.oauth2_answers (verifier, challenge, result, resource, session_lost, expires_at, subject)
         values ($1, $2, $3, $4::text[], $5::bool, to_timestamp($6::float8), $7)`,
        [
          tokenHashOf(verifier),
          tokenHashOf(uid),
          JSON.stringify(result),
          resource ?? null,
          sessionLost,
          exp,
          subject ?? null
        ]
      )
    )
    return { redirectTo: `${issuer}/oauth2/auth/${uid}?verifier=${verifier}` }
  })

  const sessionOf = Effect.fnUntraced(function* ({ session }: Interaction) {
    const { provider } = yield* library
    return session?.uid === undefined ? undefined : yield* libraryCall(() => provider.Session.findByUid(session.uid))
  })

  /** The session with which the browser needs no new sign-in. */
  const sufficient = (session: Session | undefined, { params }: Interaction) =>
    session?.accountId === undefined ||
    promptsIn(params).has("login") ||
    (params["max_age"] !== undefined && session.past(Number(params["max_age"])))
      ? undefined
      : session.accountId

  const login: Port["login"] = Effect.fn("OAuth2.login")(function* (challenge) {
    const { client, interaction } = yield* find("login", challenge)
    const known = sufficient(yield* sessionOf(interaction), interaction)
    return {
      challenge,
      skip: known !== undefined,
      subject: known ?? "",
      client,
      requestUrl: requestUrlOf(issuer, interaction.params)
    }
  })

  const acceptLogin: Port["acceptLogin"] = Effect.fn("OAuth2.acceptLogin")(function* (challenge, given) {
    const { interaction } = yield* find("login", challenge)
    const session = yield* sessionOf(interaction)
    const isOther = session?.accountId !== undefined && session.accountId !== given.subject
    if (isOther && !promptsIn(interaction.params).has("login")) {
      const url = new URL(requestUrlOf(issuer, interaction.params))
      url.searchParams.set("prompt", "login")
      return { redirectTo: url.href }
    }
    const login = {
      accountId: given.subject,
      acr: given.acr,
      amr: [...given.amr],
      ts: given.authenticatedAt,
      remember: true,
      rememberFor: given.rememberFor
    }
    return yield* finish(interaction, { login }, { sessionLost: isOther, subject: given.subject })
  })

  const reject =
    (kind: Kind) =>
    (challenge: string, { error, errorDescription }: Rejection) =>
      Effect.flatMap(find(kind, challenge), ({ interaction }) =>
        finish(interaction, { error: oneLine(error), error_description: oneLine(errorDescription ?? "") })
      )

  const consent: Port["consent"] = Effect.fn("OAuth2.consent")(function* (challenge) {
    const { client, interaction } = yield* find("consent", challenge)
    const subject = interaction.session?.accountId ?? ""
    return {
      challenge,
      subject,
      skip: yield* isCovered(store, subject, client, interaction.params),
      client,
      requestedScope: scopesIn(interaction.params),
      requestedAudience: audiencesIn(interaction.params),
      requestUrl: requestUrlOf(issuer, interaction.params)
    }
  })

  const acceptConsent: Port["acceptConsent"] = Effect.fn("OAuth2.acceptConsent")(function* (challenge, given) {
    const { client, interaction, provider } = yield* find("consent", challenge)
    const subject = interaction.session?.accountId ?? ""
    const skipped = yield* isCovered(store, subject, client, interaction.params)
    const scope = given.grantScope.join(" ")
    const save = () => {
      const grant = new provider.Grant({ accountId: subject, clientId: client.client_id })
      grant.addOIDCScope(scope)
      for (const audience of given.grantAudience) grant.addResourceScope(audience, scope)
      return grant.save()
    }
    // The account was disabled or deleted after the user answered, or all grants of the user were ended.
    const refused = () => expired
    const grantId = yield* libraryCall(save, { refused })
    const kept = yield* own(
      sql.unsafe(
        `insert into svc.oauth2_consents (grant_id, subject, client_id, requested_scope, grant_scope, audience,
           id_token_claims, access_token_claims, remember, remember_until, listed)
         select $1, $2, $3, $4::text[], $5::text[], $6::text[], $7, $8, $9::bool,
           case when $10::float8 > 0 then now() + make_interval(secs => $10::float8) end, $11::bool
         from (select from svc.oauth2_items where kind = 'Grant' and id = $12 for key share)
         returning 1 as one`,
        [
          grantId,
          subject,
          client.client_id,
          scopesIn(interaction.params),
          given.grantScope,
          given.grantAudience,
          claimsText(given.idTokenClaims, given.lookedUp),
          JSON.stringify(given.accessTokenClaims),
          given.remember && !skipped,
          given.rememberFor,
          !skipped,
          tokenHashOf(grantId)
        ]
      )
    )
    if (kept.length === 0) return yield* expired
    return yield* finish(
      interaction,
      { ...interaction.lastSubmission, consent: { grantId } },
      { resource: given.grantAudience, subject }
    )
  })

  return {
    login,
    acceptLogin,
    rejectLogin: reject("login"),
    consent,
    acceptConsent,
    rejectConsent: reject("consent")
  }
}
