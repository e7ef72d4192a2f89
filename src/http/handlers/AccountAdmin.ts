import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Mails } from "../../services/identity/Mails.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import {
  type AccountAdmin,
  type AccountError,
  Accounts,
  type NewAccount
} from "../../services/ports/identity/Accounts.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

/** The fields of a new account as the contract spells them. */
interface Given extends Omit<NewAccount, "traits" | "metadataPublic" | "passwordHash"> {
  readonly traits?: NewAccount["traits"]
  readonly metadata_public?: NewAccount["traits"]
  readonly password_hash?: string
}

const accountOf = ({ metadata_public, password_hash, traits = {}, ...given }: Given): NewAccount => ({
  ...given,
  traits,
  ...(metadata_public === undefined ? {} : { metadataPublic: metadata_public }),
  ...(password_hash === undefined ? {} : { passwordHash: password_hash })
})

export const AccountAdminHandlers = HttpApiBuilder.group(
  Api,
  "accountAdmin",
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const idp = yield* IdP
    const mails = yield* Mails
    const sessions = yield* Sessions

    const call = <A>(use: (admin: AccountAdmin) => Effect.Effect<A, AccountError>) =>
      Effect.flatMap(accounts.admin, use)
    /** For changes of an account: no process may go on with what it knew of its sessions. */
    const change = <A>(id: string, use: (admin: AccountAdmin) => Effect.Effect<A, AccountError>) =>
      Effect.tap(call(use), () => sessions.invalidateIdentity(id))

    return handlers.handleAll({
      list: ({ query: { identifier, page_size, page_token } }) =>
        Effect.map(
          idp.identities({
            pageSize: page_size ?? 50,
            ...(page_token === undefined ? {} : { pageToken: page_token }),
            ...(identifier === undefined ? {} : { identifier })
          }),
          ({ identities, next }) => ({ identities, next_page_token: next })
        ),
      create: ({ payload: { invite, ...given } }) =>
        call((admin) =>
          Effect.gen(function* () {
            const identity = yield* admin.create(accountOf(given))
            const recovery_link = invite === true ? (yield* admin.recoveryLink(identity.id)).link : null
            return { identity, recovery_link }
          })
        ),
      import: ({ payload }) =>
        call((admin) =>
          Effect.map(
            Effect.forEach(payload.identities, (given) =>
              Effect.match(admin.create(accountOf(given)), {
                onFailure: ({ code, error }) => ({ email: given.email, id: null, error, code }),
                onSuccess: ({ id }) => ({ email: given.email, id, error: null, code: null })
              })
            ),
            (results) => ({ results })
          )
        ),
      find: ({ params }) =>
        call((admin) =>
          Effect.gen(function* () {
            const identity = yield* idp.identity(params.id)
            return { ...identity, factors: yield* admin.factors(identity.id) }
          })
        ),
      change: ({ params, payload: { metadata_public, ...given } }) =>
        change(params.id, (admin) =>
          admin.change(params.id, {
            ...given,
            ...(metadata_public === undefined ? {} : { metadataPublic: metadata_public })
          })
        ),
      remove: ({ params }) =>
        Effect.as(
          change(params.id, (admin) => admin.remove(params.id)),
          success
        ),
      sessions: ({ params }) =>
        Effect.map(
          call((admin) => admin.sessions(params.id)),
          (sessions) => ({ sessions })
        ),
      endSessions: ({ params }) =>
        Effect.map(
          change(params.id, (admin) => admin.endSessions(params.id)),
          (ended) => ({ ...success, ended })
        ),
      removeFactor: ({ params: { id, kind } }) =>
        Effect.as(
          change(id, (admin) => admin.removeFactor(id, kind)),
          success
        ),
      recovery: ({ params }) =>
        Effect.map(
          call((admin) => admin.recoveryLink(params.id)),
          ({ expiresAt, link }) => ({ recovery_link: link, expires_at: expiresAt })
        ),
      mails: ({ query }) => mails.list({ before: query.before, recipient: query.recipient }),
      resend: ({ params }) => mails.resend(params.id)
    })
  })
)
