import { Effect } from "effect"
import { Conflict, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type RelayedCookies } from "../../../services/ports/IdP.ts"
import { type Kratos } from "./Client.ts"
import { beginSettings, inputs, type FlowMeaning, optionsOf, submitSettings } from "./Flows.ts"
import { kratosFlowExpired, kratosMethodDisabled } from "./Refusal.ts"
import { type Node } from "./Wire.ts"
import { credentialIdOf } from "../../../domain/identity/SecondFactors.ts"

const invalid = () =>
  new InvalidRequest({ error: "The security key's response could not be verified", code: "INVALID_WEBAUTHN" })
const notFound = () => new NotFound({ error: "No such security key", code: "WEBAUTHN_NOT_FOUND" })

/** The registered keys by id, in hex, and whether the form's button to remove them is disabled. */
const keysOf = (nodes: ReadonlyArray<Node>) =>
  new Map(
    inputs(nodes, "webauthn_remove").flatMap(({ disabled, value }) =>
      typeof value === "string" ? [[value.toLowerCase(), disabled === true] as const] : []
    )
  )

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const lastOne = () =>
  new Conflict({ error: "This key is the only remaining way to sign in", code: "LAST_SIGN_IN_METHOD" })

const ofConfirmation: FlowMeaning = ({ form, reason, status }) => {
  if (status === 400 && form) return invalid()
  if (status !== 500) return undefined
  if (reason.includes("Unable to create WebAuthn credential")) return invalid()
  return reason.includes("WebAuthN in internal context") ? kratosFlowExpired() : undefined
}

export const makeWebAuthn = (kratos: Kratos) => {
  const beginWebAuthn = Effect.fn("IdP.beginWebAuthn")(function* (credential: Credential) {
    const flow = yield* beginSettings(kratos, credential)
    const options = optionsOf(flow.nodes, "webauthn_register_trigger")
    if (options === undefined) return yield* kratosMethodDisabled()
    // Kratos leaves them out, and would register a key twice.
    const excludeCredentials = [...keysOf(flow.nodes).keys()].map((hex) => ({
      type: "public-key",
      id: Buffer.from(hex, "hex").toString("base64url")
    }))
    return { flowId: flow.id, options: { publicKey: { ...options, excludeCredentials } }, cookies: flow.cookies }
  })

  const confirmWebAuthn = Effect.fn("IdP.confirmWebAuthn")(function* (
    credential: Credential,
    flowId: string,
    attestation: string,
    displayName: string
  ) {
    const id = credentialIdOf(attestation, ["attestationObject", "clientDataJSON"])
    if (id === undefined) return yield* invalid()
    const name = displayName.trim() === "" ? "Security Key" : displayName.trim()
    if (/\p{Cc}/u.test(name) || name.length > 200)
      return yield* new InvalidRequest({
        error: "A key's name must have 1 to 200 characters and no control characters"
      })
    const now = yield* beginSettings(kratos, credential)
    // A key that is registered twice can't sign in, and one removal removes both.
    if (keysOf(now.nodes).has(hexOf(id)))
      return yield* new Conflict({ error: "This security key is already registered", code: "WEBAUTHN_EXISTS" })
    const body = { method: "webauthn", webauthn_register: attestation, webauthn_register_displayname: name }
    return (yield* submitSettings(kratos, credential, flowId, now.csrf, body, ofConfirmation)).cookies
  })

  const removeWebAuthn = Effect.fn("IdP.removeWebAuthn")(function* (
    credential: Credential,
    id: Uint8Array | undefined
  ) {
    const flow = yield* beginSettings(kratos, credential)
    const keys = keysOf(flow.nodes)
    if (keys.size === 0 && inputs(flow.nodes, "webauthn_register").length === 0) return yield* kratosMethodDisabled()
    const wanted = id === undefined ? [...keys.keys()] : [hexOf(id)].filter((hex) => keys.has(hex))
    if (wanted.length === 0 && id !== undefined) return yield* notFound()
    if (wanted.length === 0) return flow.cookies
    const removable = wanted.filter((hex) => keys.get(hex) === false)
    if (removable.length === 0) return yield* lastOne()
    let cookies: RelayedCookies = []
    for (const hex of removable) {
      const body = { method: "webauthn", webauthn_remove: hex }
      cookies = (yield* submitSettings(kratos, credential, flow.id, flow.csrf, body)).cookies
    }
    return cookies
  })

  return { beginWebAuthn, confirmWebAuthn, removeWebAuthn }
}
