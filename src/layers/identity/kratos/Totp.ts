import { Effect, Redacted } from "effect"
import { Conflict, InvalidRequest } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type Kratos } from "./Client.ts"
import { beginSettings, inputs, submitSettings, textContext } from "./Flows.ts"
import { kratosFlowExpired, kratosMethodDisabled } from "./Refusal.ts"
import { type Node } from "./Wire.ts"

const exists = () => new Conflict({ error: "An authenticator app is already set up", code: "TOTP_EXISTS" })
const wrongCode = () => new InvalidRequest({ error: "The code is wrong", code: "INVALID_CODE" })

/** Whether an app is set up, according to a form; undefined when the form has no TOTP fields. */
const hasTotp = (nodes: ReadonlyArray<Node>) =>
  inputs(nodes, "totp_unlink").length > 0 ? true : inputs(nodes, "totp_code").length > 0 ? false : undefined

/** `issuer` is Kratos's default, its host name. Apps show it; codes don't depend on it. */
export const makeKratosTotp = (kratos: Kratos, issuer: string) => {
  const beginTotp = Effect.fn("IdP.beginTotp")(function* (credential: Credential) {
    const flow = yield* beginSettings(kratos, credential)
    if (hasTotp(flow.nodes) === true) return yield* exists()
    const secret = textContext(flow.nodes, "totp_secret_key")?.["secret"]
    if (typeof secret !== "string") return yield* kratosMethodDisabled()
    return { flowId: flow.id, secret: Redacted.make(secret), issuer, cookies: flow.cookies }
  })

  const confirmTotp = Effect.fn("IdP.confirmTotp")(function* (credential: Credential, flowId: string, code: string) {
    if (!/^[0-9]{6}$/.test(code)) return yield* wrongCode()
    // The form of `flowId` may be outdated, a new one is not. With an app set up, Kratos would accept any code.
    const now = yield* beginSettings(kratos, credential)
    if (hasTotp(now.nodes) === true) return yield* exists()
    const body = { method: "totp", totp_code: code }
    const submitted = yield* submitSettings(kratos, credential, flowId, now.csrf, body, ({ form, reason, status }) => {
      // An earlier request has used up the flow's secret.
      if (status === 500 && reason.includes("TOTP key in the internal context")) return kratosFlowExpired()
      return form && status === 400 ? wrongCode() : undefined
    })
    return submitted.cookies
  })

  const removeTotp = Effect.fn("IdP.removeTotp")(function* (credential: Credential) {
    const flow = yield* beginSettings(kratos, credential)
    const has = hasTotp(flow.nodes)
    if (has === undefined) return yield* kratosMethodDisabled()
    if (!has) return flow.cookies
    const submitted = yield* submitSettings(kratos, credential, flow.id, flow.csrf, {
      method: "totp",
      totp_unlink: true
    })
    return submitted.cookies
  })

  return { beginTotp, confirmTotp, removeTotp }
}
