import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { shownIdentity, shownReplaced } from "../../domain/audit/Shown.ts"
import { Forbidden } from "../../domain/errors.ts"
import { exportText, type KratosIdentity } from "../../domain/identity/KratosIdentity.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { Mails } from "../../services/identity/Mails.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import {
  type AccountAdmin,
  type AccountError,
  Accounts,
  type NewAccount
} from "../../services/ports/identity/Accounts.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { Api } from "../Api.ts"
import { invitationOf } from "../pages/accounts/MailPages.ts"
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

/** An account of an import: in this service's form or that of an export. */
const importedOf = (given: (Given & { readonly email: string }) | KratosIdentity): NewAccount => {
  if ("email" in given) return accountOf(given)
  const { credentials, external_id, metadata_public, state, traits, verifiable_addresses = [] } = given
  const email = String(traits["email"] ?? "")
  const passwordHash = credentials?.password?.config.hashed_password
  return {
    email,
    traits,
    verified: verifiable_addresses.some(({ value, verified }) => verified && value === email),
    ...(external_id === undefined ? {} : { id: external_id }),
    ...(metadata_public == null ? {} : { metadataPublic: metadata_public }),
    ...(passwordHash === undefined ? {} : { passwordHash }),
    ...(state === undefined ? {} : { state })
  }
}

const needsKey = new Forbidden({ error: "An export contains password hashes: it needs a service_role key" })

/** Fields of a change whose names are recorded. */
const changeable = ["traits", "metadata_public", "verified"]

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
    /** Changes an account, and makes every process drop what it has cached of its sessions. */
    const change = <A>(id: string, use: (admin: AccountAdmin) => Effect.Effect<A, AccountError>) =>
      Effect.tap(call(use), () => sessions.invalidateIdentity(id))

    return handlers.handleAll({
      list: ({ query: { contains, identifier, page_size = 50, page_token } }) =>
        Effect.map(
          contains === undefined
            ? idp.identities({
                pageSize: page_size,
                ...(page_token === undefined ? {} : { pageToken: page_token }),
                ...(identifier === undefined ? {} : { identifier })
              })
            : call((admin) => admin.search(contains, page_size, page_token)),
          ({ identities, next }) => ({ identities, next_page_token: next })
        ),
      create: ({ payload: { invite, ...given } }) =>
        call((admin) =>
          Effect.gen(function* () {
            const identity = yield* admin.create(accountOf(given))
            yield* describeChange({ subject: `identity:${identity.id}`, after: shownIdentity(identity) })
            const recovery_link = invite === true ? invitationOf((yield* admin.recoveryLink(identity.id)).link) : null
            return { identity, recovery_link }
          })
        ),
      import: ({ payload }) =>
        call((admin) =>
          Effect.map(
            Effect.forEach(payload.identities.map(importedOf), (given) =>
              Effect.match(admin.create(given), {
                onFailure: ({ code, error }) => ({ email: given.email, id: null, error, code }),
                onSuccess: ({ id }) => ({ email: given.email, id, error: null, code: null })
              })
            ),
            (results) => ({ results })
          ).pipe(
            Effect.tap(({ results }) => {
              const made = results.filter(({ id }) => id !== null).length
              return describeChange({ subject: "identity", after: { created: made, refused: results.length - made } })
            })
          )
        ),
      export: Effect.fnUntraced(function* () {
        if ((yield* CurrentAuthor).type !== "key") return yield* needsKey
        const { exported } = yield* accounts.admin
        return HttpServerResponse.stream(Stream.encodeText(exportText(exported)), {
          contentType: "application/json",
          headers: { "cache-control": "no-store", "content-disposition": 'attachment; filename="identities.json"' }
        })
      }),
      find: ({ params }) =>
        call((admin) =>
          Effect.gen(function* () {
            const identity = yield* idp.identity(params.id)
            return { ...identity, factors: yield* admin.factors(identity.id) }
          })
        ),
      change: ({ params, payload: { metadata_public, updated_at, ...given } }) =>
        change(
          params.id,
          Effect.fnUntraced(function* (admin) {
            const before = yield* idp.identity(params.id)
            const identity = yield* admin.change(params.id, {
              ...given,
              ...(metadata_public === undefined ? {} : { metadataPublic: metadata_public }),
              ...(updated_at === undefined ? {} : { readAt: updated_at })
            })
            const after = { ...shownIdentity(identity), ...shownReplaced({ metadata_public, ...given }, changeable) }
            yield* describeChange({ subject: `identity:${params.id}`, before: shownIdentity(before), after })
            return identity
          })
        ),
      remove: ({ params }) =>
        change(
          params.id,
          Effect.fnUntraced(function* (admin) {
            const before = yield* idp.identity(params.id)
            yield* admin.remove(params.id)
            yield* describeChange({ subject: `identity:${params.id}`, before: shownIdentity(before) })
            return success
          })
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
