import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { phoneDisabled } from "../../../domain/supabase/AuthErrors.ts"
import { bodyOf, challengeOf, empty, json, makeAuthRoutes, object, pkce, text } from "./Access.ts"

const Body = Schema.Struct({
  email: text,
  phone: text,
  password: text,
  current_password: text,
  nonce: text,
  data: object,
  ...pkce
})
const changeOf = bodyOf(Body)

/** `/auth/v1/user`: users and their own account. */
export const AuthUserRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on } = yield* makeAuthRoutes(router)

    yield* on("GET", "/user", "key", ({ calls, session }) =>
      Effect.map(Effect.flatMap(session, calls.user), (user) => json(user))
    )
    yield* on("PUT", "/user", "key", (call) =>
      Effect.gen(function* () {
        const session = yield* call.session
        const given = yield* changeOf(call)
        if (given.phone != null && given.phone !== "") return yield* phoneDisabled
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
  })
)
