import { randomBytes } from "node:crypto"
import { begin, checkNoBrowser, errorText, input, needFresh, needMethod, refusedForm, submitted } from "./flows.ts"
import { totpHolds } from "./factors.ts"
import { complete, type Flow, type Method, type Person, type Session, type State } from "./state.ts"
import {
  aal2Url,
  type Call,
  checkCsrf,
  deviceOf,
  elsewhere,
  failure,
  redirect,
  Refused,
  type Reply,
  sessionJson,
  sessionOf,
  setSession
} from "./wire.ts"
import { handleOf, Unparsable, verifyAssertion } from "./webauthn.ts"

const isOf = (call: Call) => ({
  refresh: call.url.searchParams.get("refresh") === "true",
  aal: call.url.searchParams.get("aal") === "aal2" ? ("aal2" as const) : ("aal1" as const)
})

const alreadyIn = () =>
  failure({
    status: 400,
    id: "session_already_available",
    reason: "A valid session was detected and thus login is not possible."
  })

/** GET /self-service/login/browser and …/api */
export const beginLogin = (state: State, call: Call, type: Flow["type"]): Reply => {
  const { aal, refresh } = isOf(call)
  const session = sessionOf(state, call)
  if (aal === "aal2" && session === undefined) {
    const reason = "You can not requested a higher AAL (AAL2/AAL3) without an active session."
    throw failure({ status: 401, id: "session_aal1_required", reason })
  }
  const furnish = (flow: Flow) => fillLogin(state, session?.person, flow)
  const wanted = { kind: "login", type, aal, refresh, furnish } as const
  const enough = session !== undefined && !refresh && (aal === "aal1" || session.aal === "aal2")
  if (!enough) return begin(state, call, wanted)
  if (type === "api" || call.json) throw alreadyIn()
  // Redirects back, also when a second factor is required: a page that redirects here again loops.
  return redirect(call.url.searchParams.get("return_to") ?? state.settings.returnUrl)
}

const fillLogin = (state: State, person: Person | undefined, flow: Flow) => {
  const { methods, rp } = state.settings
  const value = randomBytes(32).toString("base64url")
  const request = { challenge: value, timeout: 300_000, rpId: rp.id, userVerification: "preferred" }
  if (flow.aal === "aal1") {
    if (methods.password)
      flow.nodes = [
        input("default", "identifier", ""),
        input("password", "password"),
        input("password", "method", "password")
      ]
    if (!methods.passkey) return
    flow.secret.passkey = value
    flow.nodes = [
      ...flow.nodes,
      input("passkey", "passkey_login"),
      input("passkey", "passkey_challenge", JSON.stringify({ publicKey: request }))
    ]
    return
  }
  if (methods.totp && person?.totp !== undefined) flow.nodes = [...flow.nodes, input("totp", "totp_code")]
  if (methods.lookup_secret && (person?.codes.length ?? 0) > 0)
    flow.nodes = [...flow.nodes, input("lookup_secret", "lookup_secret")]
  // API flows don't support WebAuthn.
  if (!methods.webauthn || (person?.keys.length ?? 0) === 0 || flow.type === "api") return
  flow.secret.key = value
  const allowCredentials = person?.keys.map(({ id }) => ({ type: "public-key", id: id.toString("base64url") }))
  flow.nodes = [
    ...flow.nodes,
    input("webauthn", "webauthn_login"),
    input("webauthn", "webauthn_login_trigger", JSON.stringify({ publicKey: { ...request, allowCredentials } }))
  ]
}

/** POST /self-service/login?flow= */
export const submitLogin = (state: State, call: Call): Reply => {
  const flow = submitted(state, call, "login")
  const session = sessionOf(state, call)
  needFresh(state, flow)
  const method = String(call.body["method"]) as Method
  const strategy = strategies[method]
  if (strategy === undefined) throw failure({ status: 400, reason: `There is no method ${method}` })
  needMethod(state, method)
  if (flow.type === "api") checkNoBrowser(state, flow, call)
  else checkCsrf(state, call)
  try {
    const person = strategy.show(state, call.body, flow, session)
    if (person.state !== "active")
      throw failure({ status: 401, id: "session_identity_disabled", reason: "This account was disabled." })
    return signedIn(state, call, flow, method, person, session)
  } catch (cause) {
    // A browser is shown the form again; the flow contains the errors.
    if (call.json || flow.type === "api" || !(cause instanceof Refused) || cause.reply.status !== 400) throw cause
    return redirect(`${state.settings.uiUrls.login}?flow=${flow.id}`)
  }
}

const signedIn = (
  state: State,
  call: Call,
  flow: Flow,
  method: Method,
  person: Person,
  session: Session | undefined
): Reply => {
  const kept = session !== undefined && session.person === person ? session : undefined
  const now = kept ?? state.open(person, method, deviceOf(call))
  if (kept !== undefined) {
    complete(kept, method, flow.aal)
    kept.authenticatedAt = Date.now()
  }
  const owes = state.owesFactor(now)
  if (flow.type === "api") {
    const { identity, ...rest } = sessionJson(now)
    return { status: 200, body: { session_token: now.token, session: { ...rest, identity: owes ? null : identity } } }
  }
  const cookies = [setSession(state, now)]
  const next = owes ? aal2Url(state) : (flow.returnTo ?? state.settings.returnUrl)
  if (!call.json) return redirect(next, cookies)
  if (owes) throw new Refused({ ...elsewhere(next).reply, cookies })
  const continue_with = [{ action: "redirect_browser_to", redirect_browser_to: next }]
  return { status: 200, body: { session: sessionJson(now), continue_with }, cookies }
}

/** The identity whose credential was used; throws the refusal otherwise. */
type Show = (state: State, body: Call["body"], flow: Flow, session: Session | undefined) => Person

const password: Show = (state, body, flow) => {
  const person = state.byIdentifier(String(body["identifier"] ?? ""))
  const given = body["password"]
  if (person?.password === undefined || person.password !== given)
    throw refusedForm(state, flow, [errorText(4_000_006, "The provided credentials are invalid.")])
  return person
}

const totp: Show = (state, body, flow, session) => {
  const { person } = session!
  if (person.totp === undefined || !totpHolds(person.totp, body["totp_code"]))
    throw refusedForm(state, flow, [errorText(4_000_008, "The provided authentication code is invalid.")])
  return person
}

const lookupSecret: Show = (state, body, flow, session) => {
  const { person } = session!
  const found = person.codes.find(({ code }) => code === body["lookup_secret"])
  if (found === undefined || found.usedAt !== null)
    throw refusedForm(state, flow, [errorText(4_000_016, "The backup recovery code is not valid.")])
  found.usedAt = new Date().toISOString()
  return person
}

const wrongKey = (state: State, flow: Flow) =>
  refusedForm(state, flow, [errorText(4_000_008, "The provided authentication code is invalid, please try again.")])

/** Checks a credential: a malformed one is 4000001, one that can't be verified 4000008. */
const checked = <A>(state: State, flow: Flow, check: () => A): A => {
  try {
    return check()
  } catch (cause) {
    if (cause instanceof Unparsable) throw refusedForm(state, flow, [errorText(4_000_001, cause.message)])
    throw wrongKey(state, flow)
  }
}

const askedBy = ({ settings }: State, challenge: string) => ({
  rpId: settings.rp.id,
  origins: settings.rp.origins,
  challenge
})

const webauthn: Show = (state, body, flow, session) => {
  const { person } = session!
  const text = String(body["webauthn_login"] ?? "")
  checked(state, flow, () => verifyAssertion(text, askedBy(state, flow.secret.key ?? ""), person.keys))
  return person
}

const passkey: Show = (state, body, flow) => {
  const { passkey: challenge } = flow.secret
  if (challenge === undefined)
    throw failure({ status: 500, reason: "Expected WebAuthN in internal context to be an object but got: " })
  const text = String(body["passkey_login"])
  const handle = checked(state, flow, () => handleOf(text))
  const person = [...state.people.values()].find((one) => one.passkeys.length > 0 && one.passkeyHandle === handle)
  if (person === undefined)
    throw refusedForm(state, flow, [errorText(4_000_015, "This account does not exist or has no passkey set up.")])
  checked(state, flow, () => verifyAssertion(text, askedBy(state, challenge), person.passkeys))
  // Valid for one sign-in.
  delete flow.secret.passkey
  return person
}

const strategies: Readonly<Record<string, { readonly aal: "aal1" | "aal2"; readonly show: Show }>> = {
  password: { aal: "aal1", show: password },
  passkey: { aal: "aal1", show: passkey },
  totp: { aal: "aal2", show: totp },
  lookup_secret: { aal: "aal2", show: lookupSecret },
  webauthn: { aal: "aal2", show: webauthn }
}
