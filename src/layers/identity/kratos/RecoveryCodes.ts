import { Effect } from "effect"
import { Conflict } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type Kratos } from "./Client.ts"
import { beginSettings, inputs, openSettings, submitSettings, textContext } from "./Flows.ts"
import { kratosMethodDisabled } from "./Refusal.ts"

const method = "lookup_secret"

const notGenerated = () =>
  new Conflict({ error: "No recovery codes were generated in this flow", code: "RECOVERY_CODES_NOT_GENERATED" })

/** The secrets in `[{context: {secret}}, …]`; undefined for any other form. */
const codesOf = (context: Readonly<Record<string, unknown>> | undefined): ReadonlyArray<string> | undefined => {
  const secrets = context?.["secrets"]
  if (!Array.isArray(secrets)) return undefined
  return (secrets as ReadonlyArray<{ readonly context?: { readonly secret?: unknown } }>).flatMap(({ context }) =>
    typeof context?.secret === "string" ? [context.secret] : []
  )
}

export const makeKratosRecoveryCodes = (kratos: Kratos) => {
  const beginRecoveryCodes = Effect.fn("IdP.beginRecoveryCodes")(function* (credential: Credential) {
    const flow = yield* beginSettings(kratos, credential)
    const body = { method, lookup_secret_regenerate: true }
    const { cookies, nodes } = yield* submitSettings(kratos, credential, flow.id, flow.csrf, body)
    // The flow's state is no indication: it stays what it was after an earlier success.
    const codes = codesOf(textContext(nodes, "lookup_secret_codes"))
    if (codes === undefined || codes.length === 0) return yield* kratosMethodDisabled()
    return { flowId: flow.id, codes, cookies }
  })

  const confirmRecoveryCodes = Effect.fn("IdP.confirmRecoveryCodes")(function* (
    credential: Credential,
    flowId: string
  ) {
    const flow = yield* openSettings(kratos, credential, flowId)
    const body = { method, lookup_secret_confirm: true }
    const submitted = yield* submitSettings(kratos, credential, flow.id, flow.csrf, body, ({ messages, status }) =>
      status === 400 && messages.some(({ id }) => id === 4_000_001) ? notGenerated() : undefined
    )
    return submitted.cookies
  })

  const removeRecoveryCodes = Effect.fn("IdP.removeRecoveryCodes")(function* (credential: Credential) {
    const flow = yield* beginSettings(kratos, credential)
    if (inputs(flow.nodes, "lookup_secret_disable").length === 0) return flow.cookies
    const body = { method, lookup_secret_disable: true }
    return (yield* submitSettings(kratos, credential, flow.id, flow.csrf, body)).cookies
  })

  return { beginRecoveryCodes, confirmRecoveryCodes, removeRecoveryCodes }
}
