import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { encodeQR } from "qr"
import { Unprocessable } from "../../../domain/errors.ts"
import { validationFailed } from "../../../domain/supabase/AuthErrors.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { bodyOf, json, makeAuthRoutes, maybe, shortText } from "./Access.ts"

const enrolOf = bodyOf(Schema.Struct({ friendly_name: shortText, factor_type: shortText, issuer: shortText }))
const challengeOf = bodyOf(
  Schema.Struct({
    webauthn: maybe(
      Schema.Struct({ rpId: shortText, rpOrigins: maybe(Schema.Array(Schema.String).check(Schema.isMaxLength(20))) })
    )
  })
)
const verifyOf = bodyOf(
  Schema.Struct({
    challenge_id: shortText,
    code: shortText,
    webauthn: maybe(
      Schema.Struct({ type: Schema.Literals(["create", "request"]), credential_response: JsonObjectSchema })
    )
  })
)

const disabled = (type: string) =>
  new Unprocessable({
    error: `MFA enroll is disabled for ${type}`,
    code: `mfa_${type.toLowerCase()}_enroll_not_enabled`
  })

/** `/auth/v1/factors`: authenticator apps and security keys. */
export const AuthFactorRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { on } = yield* makeAuthRoutes(router)

    yield* on("POST", "/factors", "key", (call) =>
      Effect.gen(function* () {
        const session = yield* call.session
        const { factor_type: type, friendly_name, issuer } = yield* enrolOf(call)
        if (type === "phone") return yield* disabled("Phone")
        const name = friendly_name ?? ""
        if (type === "webauthn") {
          return json({ id: yield* call.calls.enrollKey(session, name), type, friendly_name: name })
        }
        if (type !== "totp") return yield* validationFailed("factor_type needs to be totp or webauthn")
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
        const session = yield* call.session
        const { webauthn } = yield* challengeOf(call)
        const page = { rpId: webauthn?.rpId ?? undefined, origins: webauthn?.rpOrigins ?? undefined }
        const { options, ...challenge } = yield* call.calls.challenge(session, id, page)
        if (options === undefined) return json(challenge)
        const { publicKey, type } = options
        return json({ ...challenge, webauthn: { type, credential_options: { publicKey } } })
      })
    )
    yield* on("POST", "/factors/:id/verify", "key", (call) =>
      Effect.gen(function* () {
        const { id = "" } = yield* HttpRouter.params
        const session = yield* call.session
        const { challenge_id, code, webauthn } = yield* verifyOf(call)
        const proof =
          webauthn == null
            ? { code: code ?? "" }
            : { type: webauthn.type, credential: JSON.stringify(webauthn.credential_response) }
        return json(yield* call.calls.verifyFactor(session, { factorId: id, challengeId: challenge_id ?? "", proof }))
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
