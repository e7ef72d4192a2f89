import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { encodeQR } from "qr"
import { Unprocessable } from "../../../domain/errors.ts"
import { invalid } from "../../../domain/supabase/AuthErrors.ts"
import { bodyOf, json, makeAuthRoutes, text } from "./Access.ts"

const enrolOf = bodyOf(Schema.Struct({ friendly_name: text, factor_type: text, issuer: text }))
const verifyOf = bodyOf(Schema.Struct({ challenge_id: text, code: text }))

const disabled = (type: string) =>
  new Unprocessable({
    error: `MFA enroll is disabled for ${type}`,
    code: `mfa_${type.toLowerCase()}_enroll_not_enabled`
  })

/** `/auth/v1/factors`: authenticator apps. */
export const AuthFactorRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on } = yield* makeAuthRoutes(router)

    yield* on("POST", "/factors", "key", (call) =>
      Effect.gen(function* () {
        const session = yield* call.session
        const { factor_type: type, friendly_name, issuer } = yield* enrolOf(call)
        if (type === "phone") return yield* disabled("Phone")
        if (type === "webauthn") return yield* disabled("WebAuthn")
        if (type !== "totp") return yield* invalid("factor_type needs to be totp")
        const name = friendly_name ?? ""
        const { id, secret, uri } = yield* call.calls.enroll(session, { name, issuer: issuer ?? undefined })
        return json({
          id,
          type: "totp",
          friendly_name: name,
          totp: { qr_code: encodeQR(uri, "svg", { border: 4 }), secret, uri }
        })
      })
    )
    yield* on("POST", "/factors/:id/challenge", "key", (call) =>
      Effect.gen(function* () {
        const { id = "" } = yield* HttpRouter.params
        return json({ ...(yield* call.calls.challenge(yield* call.session, id)), type: "totp" })
      })
    )
    yield* on("POST", "/factors/:id/verify", "key", (call) =>
      Effect.gen(function* () {
        const { id = "" } = yield* HttpRouter.params
        const session = yield* call.session
        const { challenge_id, code } = yield* verifyOf(call)
        const given = { factorId: id, challengeId: challenge_id ?? "", code: code ?? "" }
        return json(yield* call.calls.verifyFactor(session, given))
      })
    )
    yield* on("DELETE", "/factors/:id", "key", (call) =>
      Effect.gen(function* () {
        const { id = "" } = yield* HttpRouter.params
        yield* call.calls.unenroll(yield* call.session, id)
        return json({ id })
      })
    )
  })
)
