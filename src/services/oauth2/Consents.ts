import { Context, Effect, Layer } from "effect"
import { Forbidden, InvalidRequest, type StepUpRequired } from "../../domain/errors.ts"
import { type ConsentRequest, type ConsentSession } from "../../domain/oauth2/OAuth2.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { type IdPTrouble } from "../ports/IdP.ts"
import { type ChallengeTrouble, OAuth2, type OAuth2Trouble, type Onward, type Rejection } from "../ports/OAuth2.ts"
import { OAuth2Claims } from "./Claims.ts"
import { OAuth2Requests } from "./Requests.ts"
import { Sessions, type SignedIn } from "../identity/Sessions.ts"

/** 30 days, in s. */
export const rememberedByDefault = 30 * 24 * 3600

/** What somebody allows; scopes and audiences are some of what was asked for. */
export interface Grant {
  readonly scope: ReadonlyArray<string>
  /** undefined: what was asked for. */
  readonly audience: ReadonlyArray<string> | undefined
  readonly remember: boolean
  /** s; 0: for ever. */
  readonly rememberFor: number
}

export type ConsentTrouble = ChallengeTrouble | IdPTrouble | StepUpRequired | Forbidden

/** What people allow clients, and have allowed (spec: OAuth2 bridge and consent). */
export class OAuth2Consents extends Context.Service<
  OAuth2Consents,
  {
    /** 403 `CHALLENGE_FORBIDDEN` when the visitor is somebody else than who is asked. */
    readonly find: (challenge: string, visitor: Visitor) => Effect.Effect<ConsentRequest, ConsentTrouble>
    /** Where the visitor has a session: the one who is asked, or 403. */
    readonly visitorIs: (
      subject: string,
      visitor: Visitor
    ) => Effect.Effect<SignedIn | undefined, IdPTrouble | StepUpRequired | Forbidden>
    readonly accept: (
      challenge: string,
      visitor: Visitor,
      grant: Grant
    ) => Effect.Effect<Onward, ConsentTrouble | InvalidRequest>
    /** All that is asked for, without a question; remembers nothing. */
    readonly acceptAll: (request: ConsentRequest) => Effect.Effect<Onward, ConsentTrouble>
    readonly reject: (challenge: string, visitor: Visitor, why: Rejection) => Effect.Effect<Onward, ConsentTrouble>
    readonly list: (subject: string) => Effect.Effect<ReadonlyArray<ConsentSession>, OAuth2Trouble>
    /** Of one client, or of all; their tokens go too. */
    readonly revoke: (subject: string, clientId: string | undefined) => Effect.Effect<void, OAuth2Trouble>
    /** Everything somebody is signed in to and has allowed. */
    readonly signOut: (subject: string) => Effect.Effect<void, OAuth2Trouble>
  }
>()("svc/services/OAuth2Consents") {
  static readonly layer = Layer.effect(
    OAuth2Consents,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2
      const claims = yield* OAuth2Claims
      const requests = yield* OAuth2Requests
      const sessions = yield* Sessions

      const visitorIs = Effect.fn("OAuth2Consents.visitorIs")(function* (subject: string, visitor: Visitor) {
        const signedIn = yield* sessions.optional(visitor)
        if (signedIn === undefined || signedIn.session.identity.id === subject) return signedIn
        return yield* new Forbidden({
          error: "Somebody else is asked: the session is not of this challenge's subject",
          code: "CHALLENGE_FORBIDDEN"
        })
      })

      const find = Effect.fn("OAuth2Consents.find")(function* (challenge: string, visitor: Visitor) {
        const request = yield* requests.withRestart(challenge, oauth2.consent(challenge))
        yield* visitorIs(request.subject, visitor)
        return request
      })

      const accepted = Effect.fn("OAuth2Consents.accepted")(function* (request: ConsentRequest, grant: Grant) {
        const resolved = yield* claims.of(request.subject)
        if (resolved === undefined) {
          return yield* oauth2.rejectConsent(request.challenge, {
            error: "access_denied",
            errorDescription: "This identity is there no more, or is inactive"
          })
        }
        return yield* requests.withRestart(
          request.challenge,
          oauth2.acceptConsent(request.challenge, {
            grantScope: grant.scope,
            grantAudience: grant.audience ?? request.requestedAudience,
            remember: grant.remember,
            rememberFor: grant.rememberFor,
            ...resolved
          })
        )
      })

      return OAuth2Consents.of({
        find,
        visitorIs,
        accept: Effect.fn("OAuth2Consents.accept")(function* (challenge, visitor, grant) {
          const request = yield* find(challenge, visitor)
          const details = [
            ...beyond("grant_scope", grant.scope, request.requestedScope),
            ...beyond("grant_access_token_audience", grant.audience ?? [], request.requestedAudience)
          ]
          if (details.length > 0) {
            return yield* new InvalidRequest({ error: "More is granted than the client asked for", details })
          }
          return yield* accepted(request, grant)
        }),
        acceptAll: (request) =>
          accepted(request, { scope: request.requestedScope, audience: undefined, remember: false, rememberFor: 0 }),
        reject: Effect.fn("OAuth2Consents.reject")(function* (challenge, visitor, why) {
          yield* find(challenge, visitor)
          return yield* requests.withRestart(challenge, oauth2.rejectConsent(challenge, why))
        }),
        list: oauth2.consents,
        revoke: oauth2.revokeConsents,
        signOut: (subject) => Effect.andThen(oauth2.revokeLogins(subject), oauth2.revokeConsents(subject, undefined))
      })
    })
  )
}

const beyond = (name: string, given: ReadonlyArray<string>, asked: ReadonlyArray<string>) =>
  given
    .filter((one) => !asked.includes(one))
    .slice(0, 20)
    .map((one) => `${name}: ${JSON.stringify(one.slice(0, 100))} was not asked for`)
