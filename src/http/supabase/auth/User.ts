import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { NotFound } from "../../../domain/errors.ts"
import { type ConsentSession } from "../../../domain/oauth2/OAuth2.ts"
import { OAuth2Consents } from "../../../services/oauth2/Consents.ts"
import { appMetadataOfAdmins, validationFailed, phoneDisabled } from "../../../domain/supabase/AuthErrors.ts"
import { bodyOf, challengeOf, empty, json, makeAuthRoutes, object, pkce, shortText } from "./Access.ts"

const Body = Schema.Struct({
  email: shortText,
  phone: shortText,
  password: shortText,
  current_password: shortText,
  nonce: shortText,
  data: object,
  app_metadata: object,
  ...pkce
})
const changeOf = bodyOf(Body)

const noGrant = new NotFound({ error: "No active grant found for this client", code: "oauth_consent_not_found" })
const grantOf = ({ client, grantScope, handledAt }: ConsentSession) => ({
  client: {
    id: client.client_id,
    name: client.client_name,
    uri: "",
    logo_uri: client.logo_uri
  },
  scopes: grantScope,
  granted_at: handledAt
})

/** `/auth/v1/user`: users, their own account, and what they have granted to clients of the OAuth 2.0 server. */
export const AuthUserRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on } = yield* makeAuthRoutes(router)
    const consents = yield* OAuth2Consents

    yield* on("GET", "/user", "key", ({ calls, session }) =>
      Effect.map(Effect.flatMap(session, calls.user), (user) => json(user))
    )
    yield* on("PUT", "/user", "key", (call) =>
      Effect.gen(function* () {
        const session = yield* call.session
        const given = yield* changeOf(call)
        if (given.phone != null && given.phone !== "") return yield* phoneDisabled
        if (given.app_metadata != null) return yield* appMetadataOfAdmins
        const { calls, redirectTo } = call
        const user = yield* calls.update(session, {
          email: given.email ?? undefined,
          password: given.password ?? undefined,
          currentPassword: given.current_password ?? undefined,
          nonce: given.nonce == null || given.nonce === "" ? undefined : given.nonce,
          data: given.data ?? undefined,
          challenge: yield* challengeOf(given),
          redirectTo
        })
        return json(user)
      })
    )
    yield* on("GET", "/reauthenticate", "key", ({ calls, session }) =>
      Effect.as(Effect.flatMap(session, calls.reauthenticate), empty)
    )

    yield* on("GET", "/user/oauth/grants", "key", ({ session }) =>
      Effect.gen(function* () {
        const all = yield* consents.list((yield* session).userId)
        // A client may have asked several times: the latest is what holds.
        const latest = all.filter(
          ({ client }, at) => all.findIndex((one) => one.client.client_id === client.client_id) === at
        )
        return json(latest.map(grantOf))
      })
    )
    yield* on("DELETE", "/user/oauth/grants", "key", ({ query, session }) =>
      Effect.gen(function* () {
        const { userId } = yield* session
        const clientId = query.get("client_id") ?? ""
        if (clientId === "") return yield* validationFailed("client_id query parameter is required")
        const all = yield* consents.list(userId)
        if (!all.some(({ client }) => client.client_id === clientId)) return yield* noGrant
        yield* consents.revoke(userId, clientId)
        return HttpServerResponse.empty({ status: 204 })
      })
    )
  })
)
