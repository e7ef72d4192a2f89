import { randomBytes } from "node:crypto"
import { Secret, TOTP } from "otpauth"
import { errorText, input, refusedForm, textNode } from "./flows.ts"
import { complete, type Flow, type Method, type SecurityKey, type Session, type State } from "./state.ts"
import { type Call, failure } from "./wire.ts"
import { verifyAttestation } from "./webauthn.ts"

export const hexOf = ({ id }: SecurityKey) => id.toString("hex")

/** Whether an app with this secret shows the code within 30 s of now. */
export const totpHolds = (secret: string, code: unknown) =>
  typeof code === "string" &&
  new TOTP({ secret: Secret.fromBase32(secret) }).validate({ token: code, window: 1 }) !== null

type Body = Call["body"]
type Submit = (state: State, body: Body, flow: Flow, session: Session) => "saved" | "form"

const totp: Submit = (state, body, flow, session) => {
  const { person } = session
  if (body["totp_unlink"] !== undefined) {
    person.totp = undefined
    return "saved"
  }
  const code = body["totp_code"]
  if (flow.secret.totp === undefined)
    throw failure({ status: 500, reason: "Could not find the TOTP key in the internal context." })
  if (!totpHolds(flow.secret.totp, code))
    throw refusedForm(
      state,
      flow,
      [errorText(4_000_008, "The provided authentication code is invalid, please try again.")],
      "totp_code"
    )
  person.totp = flow.secret.totp
  complete(session, "totp", "aal2")
  return "saved"
}

/** The new key of a form; 500 when it can't be verified. */
const newKey = (state: State, sent: unknown, challenge: string | undefined): SecurityKey => {
  const { id, origins } = state.settings.rp
  try {
    const key = verifyAttestation(String(sent), { rpId: id, origins, challenge: String(challenge) })
    return { ...key, displayName: "", addedAt: new Date().toISOString() }
  } catch (cause) {
    throw failure({ status: 500, reason: `Unable to create WebAuthn credential: ${String(cause)}` })
  }
}

const webauthn: Submit = (state, body, flow, session) => {
  const { person } = session
  if (body["webauthn_remove"] !== undefined) {
    person.keys = person.keys.filter((key) => hexOf(key) !== body["webauthn_remove"])
    return "saved"
  }
  const key = newKey(state, body["webauthn_register"], flow.secret.key)
  // Registering the same key twice is accepted.
  person.keys.push({ ...key, displayName: String(body["webauthn_register_displayname"]) })
  complete(session, "webauthn", "aal2")
  return "saved"
}

const passkey: Submit = (state, body, flow, { person }) => {
  person.passkeys.push(newKey(state, body["passkey_settings_register"], flow.secret.passkey))
  return "saved"
}

const lookupSecret: Submit = (state, body, flow, session) => {
  const { person } = session
  const { codes } = flow.secret
  const showing = (secrets: ReadonlyArray<string>) => {
    const context = secrets.map((secret) => ({ id: 1_050_009, text: secret, type: "info", context: { secret } }))
    const text = secrets.join(", ")
    flow.nodes = [
      ...flow.nodes.filter(
        ({ attributes }) => !/^lookup_secret_(codes|confirm)$/.test(String(attributes["id"] ?? attributes["name"]))
      ),
      textNode("lookup_secret", "lookup_secret_codes", text, { secrets: context })
    ]
  }
  if (isOn(body["lookup_secret_regenerate"])) {
    const made = Array.from({ length: 12 }, makeCode)
    flow.secret.codes = made
    showing(made)
    flow.nodes = [...flow.nodes, input("lookup_secret", "lookup_secret_confirm", "true")]
    return "form"
  }
  if (isOn(body["lookup_secret_confirm"])) {
    if (codes === undefined)
      throw refusedForm(state, flow, [errorText(4_000_001, "You must (re-)generate recovery backup codes first.")])
    person.codes = codes.map((code) => ({ code, usedAt: null }))
    complete(session, "lookup_secret", "aal2")
  } else person.codes = []
  delete flow.secret.codes
  return "saved"
}

const isOn = (value: unknown) => value === true || value === "true"

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
const makeCode = () => Array.from(randomBytes(8), (byte) => letters[byte % letters.length]).join("")

/** Handlers by the `method` of a settings form. */
export const strategies: Readonly<Record<string, { readonly method: Method; readonly submit: Submit }>> = {
  totp: { method: "totp", submit: totp },
  webauthn: { method: "webauthn", submit: webauthn },
  passkey: { method: "passkey", submit: passkey },
  lookup_secret: { method: "lookup_secret", submit: lookupSecret }
}
