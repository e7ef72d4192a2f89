import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { validationFailed } from "../../../domain/supabase/AuthErrors.ts"
import { bodyOf, json, makeAuthRoutes, object, shortText } from "./Access.ts"

const read = bodyOf(Schema.Struct({ challenge_id: shortText, credential: object }))
const proofOf = (call: Parameters<typeof read>[0]) =>
  Effect.flatMap(read(call), ({ challenge_id: challengeId, credential }) =>
    challengeId == null || credential == null
      ? Effect.fail(validationFailed("challenge_id and credential are required"))
      : Effect.succeed({ challengeId, credential: JSON.stringify(credential) })
  )
const nameOf = bodyOf(Schema.Struct({ friendly_name: shortText }))

/** `/auth/v1/passkeys`: signing in by a passkey, and those of a user. */
export const AuthPasskeyRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on } = yield* makeAuthRoutes(router)
    const idOf = Effect.map(HttpRouter.params, ({ id = "" }) => id)

    yield* on("POST", "/passkeys/registration/options", "key", ({ calls, session }) =>
      Effect.map(Effect.flatMap(session, calls.passkeys.beginRegistration), (challenge) => json(challenge))
    )
    yield* on("POST", "/passkeys/registration/verify", "key", (call) =>
      Effect.gen(function* () {
        const session = yield* call.session
        const { challengeId, credential } = yield* proofOf(call)
        return json(yield* call.calls.passkeys.register(session, challengeId, credential))
      })
    )
    yield* on("POST", "/passkeys/authentication/options", "key", ({ calls }) =>
      Effect.map(calls.passkeys.beginSignIn, (challenge) => json(challenge))
    )
    yield* on("POST", "/passkeys/authentication/verify", "key", (call) =>
      Effect.gen(function* () {
        const { challengeId, credential } = yield* proofOf(call)
        return json(yield* call.calls.passkeys.signIn(challengeId, credential))
      })
    )
    yield* on("GET", "/passkeys", "key", ({ calls, session }) =>
      Effect.map(
        Effect.flatMap(session, ({ userId }) => calls.passkeys.list(userId)),
        (passkeys) => json(passkeys)
      )
    )
    yield* on("PATCH", "/passkeys/:id", "key", (call) =>
      Effect.gen(function* () {
        const { userId } = yield* call.session
        const { friendly_name: name } = yield* nameOf(call)
        return json(yield* call.calls.passkeys.rename(userId, yield* idOf, name ?? ""))
      })
    )
    yield* on("DELETE", "/passkeys/:id", "key", (call) =>
      Effect.gen(function* () {
        yield* call.calls.passkeys.remove(yield* call.session, yield* idOf)
        return HttpServerResponse.empty({ status: 204 })
      })
    )
  })
)
