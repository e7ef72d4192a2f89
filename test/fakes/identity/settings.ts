import { randomBytes } from "node:crypto"
import { Secret } from "otpauth"
import { begin, flowJson, foreign, input, needFresh, needMethod, submitted, succeeded, textNode } from "./flows.ts"
import { hexOf, strategies } from "./factors.ts"
import { type Flow, type FormNode, type Person, type State } from "./state.ts"
import {
  type Call,
  checkCsrf,
  failure,
  needFactor,
  needSession,
  redirect,
  type Reply,
  sessionOf,
  setSession
} from "./wire.ts"

const challenge = () => randomBytes(32).toString("base64url")
const json = (options: unknown) => JSON.stringify({ publicKey: options })

/** The form fields of what an identity may set up, with new secrets. */
const fill = (state: State, person: Person, flow: Flow) => {
  const { methods, rp } = state.settings
  const nodes: Array<FormNode> = []
  flow.secret = {}
  const creation = (user: Readonly<Record<string, string>>, value: string) =>
    json({
      rp: { id: rp.id, name: rp.name },
      user,
      challenge: value,
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
      timeout: 300_000
    })
  if (methods.lookup_secret) {
    const names =
      person.codes.length > 0 ? ["lookup_secret_reveal", "lookup_secret_disable"] : ["lookup_secret_regenerate"]
    nodes.push(...names.map((name) => input("lookup_secret", name, "true")))
  }
  if (methods.webauthn) {
    flow.secret.key = challenge()
    nodes.push(
      ...person.keys.map((key) =>
        input("webauthn", "webauthn_remove", hexOf(key), {
          label: { context: { display_name: key.displayName, added_at: key.addedAt } }
        })
      ),
      input("webauthn", "webauthn_register_displayname", ""),
      input("webauthn", "webauthn_register", ""),
      input(
        "webauthn",
        "webauthn_register_trigger",
        creation({ id: person.keyHandle, name: rp.name, displayName: rp.name }, flow.secret.key)
      )
    )
  }
  if (methods.passkey) {
    const name = String(person.traits["email"] ?? "")
    flow.secret.passkey = challenge()
    person.passkeyHandle ??= randomBytes(48).toString("base64url")
    nodes.push(
      ...person.passkeys.map((key) => input("passkey", "passkey_remove", hexOf(key))),
      input("passkey", "passkey_settings_register"),
      input(
        "passkey",
        "passkey_create_data",
        creation({ id: person.passkeyHandle, name, displayName: name }, flow.secret.passkey)
      )
    )
  }
  if (methods.totp) {
    if (person.totp !== undefined) nodes.push(input("totp", "totp_unlink", "true"))
    else {
      const secret = new Secret({ size: 20 }).base32
      flow.secret.totp = secret
      nodes.push(textNode("totp", "totp_secret_key", secret, { secret }), input("totp", "totp_code"))
    }
  }
  flow.nodes = nodes
}

/** GET /self-service/settings/browser */
export const beginSettings = (state: State, call: Call): Reply => {
  if (!call.json && sessionOf(state, call) === undefined) {
    const back = encodeURIComponent(new URL(`${call.url.pathname}${call.url.search}`, state.baseUrl).href)
    return redirect(`${state.baseUrl}self-service/login/browser?return_to=${back}`)
  }
  const session = needSession(state, call, "session_inactive")
  needFactor(state, session)
  const { person } = session
  return begin(state, call, { kind: "settings", type: "browser", person, furnish: (flow) => fill(state, person, flow) })
}

/** POST /self-service/settings?flow= */
export const submitSettings = (state: State, call: Call): Reply => {
  const session = needSession(state, call)
  const flow = submitted(state, call, "settings")
  if (flow.person !== session.person) throw foreign()
  needFactor(state, session)
  needFresh(state, flow)
  const strategy = strategies[String(call.body["method"])]
  if (strategy === undefined) throw failure({ status: 400, reason: "There is no such method" })
  needMethod(state, strategy.method)
  checkCsrf(state, call)
  if (session.authenticatedAt + state.settings.privilegedSeconds * 1000 < Date.now()) {
    const back = encodeURIComponent(`${state.baseUrl}self-service/settings?flow=${flow.id}`)
    throw failure({
      status: 403,
      id: "session_refresh_required",
      reason: "The login session is too old and thus not allowed to update these fields. Please re-authenticate.",
      more: { redirect_browser_to: `${state.baseUrl}self-service/login/browser?refresh=true&return_to=${back}` }
    })
  }
  const shown = strategy.submit(state, call.body, flow, session)
  const cookies = [setSession(state, session)]
  if (shown === "form") return { status: 200, body: flowJson(state, flow), cookies }
  session.person.updatedAt = new Date().toISOString()
  fill(state, session.person, flow)
  return succeeded(state, flow, cookies)
}
