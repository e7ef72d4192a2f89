import { Effect, Schema } from "effect"
import { InvalidRequest, Unauthorized } from "../../../domain/errors.ts"
import { credentialIdOf } from "../../../domain/identity/SecondFactors.ts"
import { decoded, type Kratos, relayed } from "./Client.ts"
import { beginLogin, isFlowId, type FlowMeaning, optionsOf, post } from "./Flows.ts"
import { kratosFlowExpired, kratosFlowNotFound, flowRefused, kratosMethodDisabled, kratosRefusalOf } from "./Refusal.ts"
import { sessionOf } from "./Sessions.ts"
import { WireFlow, WireSession } from "./Wire.ts"

const readLogin = decoded(Schema.Struct({ session: WireSession }))
const readFlow = decoded(WireFlow)

const invalidPasskey = () =>
  new Unauthorized({ error: "The passkey is unknown, or its response could not be verified", code: "INVALID_PASSKEY" })

const ofPasskey: FlowMeaning = ({ form, id, messages, reason, status }) => {
  // The flow has already been used to sign in.
  if (status === 500 && reason.includes("WebAuthN in internal context")) return kratosFlowExpired()
  // The form contains no response of a passkey.
  if (status === 422 && id === "browser_location_change_required") return invalidPasskey()
  const wrong = messages.some(({ id }) => id < 4_010_000)
  return status === 400 && form && wrong ? invalidPasskey() : undefined
}

/** Sign-in and account recovery: these calls are always sent without a session. */
export const makeKratosSignIn = (kratos: Kratos) => {
  const beginPasskeyLogin = Effect.gen(function* () {
    const flow = yield* beginLogin(kratos)
    const publicKey = optionsOf(flow.nodes, "passkey_challenge")
    if (publicKey === undefined) return yield* kratosMethodDisabled()
    return { flowId: flow.id, options: { publicKey }, cookies: [] }
  })

  const passkeyLogin = Effect.fn("IdP.passkeyLogin")(function* (flowId: string, assertion: string) {
    if (!isFlowId(flowId)) return yield* kratosFlowNotFound()
    if (credentialIdOf(assertion, ["authenticatorData", "clientDataJSON", "signature"]) === undefined)
      return yield* invalidPasskey()
    // Reading the form needs its own cookie; submitting it only needs a valid CSRF pair.
    const { csrf } = yield* beginLogin(kratos)
    const body = { method: "passkey", passkey_login: assertion }
    const call = { method: "POST", path: `/self-service/login?flow=${flowId}`, csrf, body } as const
    const answer = yield* post(kratos, call, beginLogin(kratos))
    const cookies = relayed(answer, undefined)
    if (answer.status === 200) {
      const { session } = yield* readLogin(call, answer)
      return { session: sessionOf(session), stepUp: null, cookies }
    }
    const failure = yield* Effect.flip(flowRefused(kratos, call, answer, stepUpFirst(ofPasskey)))
    // The session exists, but is only valid for the second factor.
    if (answer.status === 422 && failure._tag === "StepUpRequired") return { session: null, stepUp: failure, cookies }
    return yield* failure
  })

  const beginRecovery = Effect.gen(function* () {
    const call = { method: "GET", path: "/self-service/recovery/api" } as const
    const answer = yield* kratos.call(call)
    // Recovery, or recovery by link, is disabled.
    if (answer.status === 400 && !kratosRefusalOf(answer).form) return yield* kratosMethodDisabled()
    if (answer.status !== 200) return yield* flowRefused(kratos, call, answer)
    const { expires_at, id } = yield* readFlow(call, answer)
    return { id, expiresAt: expires_at ?? null }
  })

  const recover = Effect.fn("IdP.recover")(function* (flowId: string, email: string) {
    if (!isFlowId(flowId)) return yield* kratosFlowNotFound()
    if (email.length > 254 || !/^[^\p{Cc}\s]+@[^\p{Cc}\s]+$/u.test(email))
      return yield* new InvalidRequest({ error: "email must be a valid e-mail address" })
    const body = { method: "link", email }
    const call = { method: "POST", path: `/self-service/recovery?flow=${flowId}`, body } as const
    const answer = yield* kratos.call(call)
    if (answer.status !== 200) return yield* flowRefused(kratos, call, answer)
    yield* readFlow(call, answer)
    return undefined
  })

  return {
    beginPasskeyLogin: Effect.withSpan(beginPasskeyLogin, "IdP.beginPasskeyLogin"),
    passkeyLogin,
    beginRecovery: Effect.withSpan(beginRecovery, "IdP.beginRecovery"),
    recover
  }
}

/** Distinguishes a 422 that requires a second factor from one that only requires the form to be filled in. */
const stepUpFirst =
  (meaning: FlowMeaning): FlowMeaning =>
  (refusal) =>
    refusal.status === 422 && /[?&]aal=aal2(&|$)/.test(refusal.redirectTo) ? undefined : meaning(refusal)
