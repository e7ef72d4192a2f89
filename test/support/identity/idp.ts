import { assert } from "@effect/vitest"
import { Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { type Authenticator } from "./authenticator.ts"

/** An identity provider under test: the fake one, or Ory Kratos configured as in docs/configuration.md. */
export interface IdPUnderTest {
  readonly publicUrl: string
  readonly adminUrl: string
  /** A page origin that its WebAuthn settings allow. */
  readonly origin: string
}

/** An identity with a password. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly password: string
}

interface Answer {
  readonly status: number
  // The tests know the type of what they requested.
  readonly body: {
    readonly id: string
    readonly ui: { readonly nodes: ReadonlyArray<{ readonly attributes: { name?: string; value: string } }> }
    readonly session_token: string
    readonly [name: string]: unknown
  }
  readonly cookies: ReadonlyArray<string>
}

export const token = (value: string): Credential => ({ _tag: "Token", value: Redacted.make(value) })
export const cookie = (value: string): Credential => ({ _tag: "Cookie", value: Redacted.make(value) })

const call = async (url: string, init: RequestInit & { readonly json?: unknown } = {}): Promise<Answer> => {
  const { json, ...rest } = init
  const response = await fetch(url, {
    redirect: "manual",
    ...rest,
    ...(json === undefined ? {} : { method: init.method ?? "POST", body: JSON.stringify(json) }),
    headers: {
      accept: "application/json",
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...(rest.headers as Record<string, string>)
    }
  })
  const text = await response.text()
  const body = text === "" ? undefined : (JSON.parse(text) as Answer["body"])
  return { status: response.status, body: body as Answer["body"], cookies: response.headers.getSetCookie() }
}

/** `also` is another accepted status. */
const good = (answer: Answer, also = 200) => {
  if (answer.status >= 300 && answer.status !== also)
    throw new Error(`The identity provider returned ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}

/** `name=value` of the Set-Cookie line with this prefix. */
const setCookie = (answer: Answer, name: string) => answer.cookies.find((line) => line.startsWith(name))?.split(";")[0]

const headersOf = (credential: Credential | undefined, csrf?: string): Record<string, string> => {
  if (credential === undefined) return csrf === undefined ? {} : { cookie: csrf }
  const value = Redacted.value(credential.value)
  if (credential._tag === "Token") return { "x-session-token": value, ...(csrf === undefined ? {} : { cookie: csrf }) }
  return { cookie: [`idp_session=${value}`, csrf].filter((part) => part !== undefined).join("; ") }
}

/** A valid but unknown id. */
export const unknownId = "5b1f6a3e-0000-4000-8000-000000000000"

/** The cookie is only returned to clients that sent it. */
export const checkCookies = (credential: Credential, cookies: ReadonlyArray<string>, message: string) => {
  assert.isTrue(
    cookies.every((line) => line.startsWith("idp_session=")),
    message
  )
  assert.strictEqual(cookies.length > 0, credential._tag === "Cookie", message)
}

/** Uses a new e-mail address every time, so that the store may contain other identities. */
export const freshEmail = () => `t${randomBytes(8).toString("hex")}@test.example`

export const makePerson = async (
  idp: IdPUnderTest,
  more: {
    readonly name?: string
    readonly metadata_public?: Readonly<Record<string, unknown>>
    /** Whether the e-mail address is verified. */
    readonly verified?: boolean
  } = {}
): Promise<Person> => {
  const { name, verified, ...rest } = more
  const email = freshEmail()
  const password = randomBytes(12).toString("hex")
  const { body } = good(
    await call(`${idp.adminUrl}/admin/identities`, {
      json: {
        schema_id: "default",
        traits: { email, ...(name === undefined ? {} : { name }) },
        credentials: { password: { config: { password } } },
        ...(verified === true
          ? { verifiable_addresses: [{ value: email, via: "email", status: "completed", verified }] }
          : {}),
        ...rest
      }
    })
  )
  return { id: body.id, email, password }
}

/** Signs in without a browser. */
export const tokenOf = async (idp: IdPUnderTest, { email, password }: Person): Promise<Credential> => {
  const flow = good(await call(`${idp.publicUrl}/self-service/login/api`))
  const json = { method: "password", identifier: email, password }
  const { body } = good(await call(`${idp.publicUrl}/self-service/login?flow=${flow.body.id}`, { json }))
  return token(body.session_token)
}

/** Opens and submits a form as a browser does. `query` with its question mark. */
const submit = async (
  idp: IdPUnderTest,
  form: "login" | "registration" | "settings",
  query: string,
  credential: Credential | undefined,
  body: (value: (name: string) => string) => Readonly<Record<string, unknown>>,
  also?: number
) => {
  const init = { headers: headersOf(credential) }
  const flow = good(await call(`${idp.publicUrl}/self-service/${form}/browser${query}`, init))
  const csrf = setCookie(flow, "csrf_token_")!
  const value = (name: string) =>
    flow.body.ui.nodes.find(({ attributes }) => attributes.name === name)?.attributes.value ?? ""
  return good(
    await call(`${idp.publicUrl}/self-service/${form}?flow=${flow.body.id}`, {
      headers: headersOf(credential, csrf),
      json: { ...body(value), csrf_token: csrf.slice(csrf.indexOf("=") + 1) }
    }),
    also
  )
}

/** Signs in as a browser does. 422: a second factor is required; the cookie is set. */
export const cookieOf = async (idp: IdPUnderTest, { email, password }: Person): Promise<Credential> => {
  const body = { method: "password", identifier: email, password }
  const done = await submit(idp, "login", "", undefined, () => body, 422)
  return cookie(setCookie(done, "idp_session=")!.slice("idp_session=".length))
}

/** Signs up as a browser does, which must also sign in. */
export const signUp = async (idp: IdPUnderTest, email: string): Promise<Credential> => {
  const password = randomBytes(12).toString("hex")
  const done = await submit(idp, "registration", "", undefined, () => ({
    method: "password",
    password,
    traits: { email }
  }))
  const set = setCookie(done, "idp_session=")
  assert.isDefined(set, "the new user is signed in")
  return cookie(set!.slice("idp_session=".length))
}

/** Enters the password again, which refreshes the same session. */
export const signInAgain = (idp: IdPUnderTest, credential: Credential, { email, password }: Person) =>
  submit(idp, "login", "?refresh=true", credential, () => ({ method: "password", identifier: email, password }))

/** Uses a second factor, which raises the same session to `aal2`. */
export const showFactor = (idp: IdPUnderTest, credential: Credential, body: Readonly<Record<string, unknown>>) =>
  submit(idp, "login", "?aal=aal2", credential, () => body)

/** The same with a security key. */
export const showKey = (idp: IdPUnderTest, credential: Credential, key: Authenticator, { email }: Person) =>
  submit(idp, "login", "?aal=aal2", credential, (value) => ({
    method: "webauthn",
    identifier: email,
    webauthn_login: key.get((JSON.parse(value("webauthn_login_trigger")) as { readonly publicKey: unknown }).publicKey)
  }))

/** Adds a passkey to the session's identity; the service's API has no call for it. */
export const enrolPasskey = (idp: IdPUnderTest, credential: Credential, key: Authenticator) =>
  submit(idp, "settings", "", credential, (value) => {
    const { publicKey } = JSON.parse(value("passkey_create_data")) as { readonly publicKey: unknown }
    return { method: "passkey", passkey_settings_register: key.create(publicKey) }
  })

/** Deactivates or activates an identity. */
export const setState = async (idp: IdPUnderTest, { email, id }: Person, state: "active" | "inactive") => {
  const json = { schema_id: "default", traits: { email }, state }
  good(await call(`${idp.adminUrl}/admin/identities/${id}`, { method: "PUT", json }))
}

export const deletePerson = async (idp: IdPUnderTest, { id }: Person) => {
  good(await call(`${idp.adminUrl}/admin/identities/${id}`, { method: "DELETE" }))
}

/** The text of the messages sent to an address, newest first. */
export const messagesTo = async (idp: IdPUnderTest, email: string): Promise<ReadonlyArray<string>> => {
  const { body } = good(
    await call(`${idp.adminUrl}/admin/courier/messages?recipient=${encodeURIComponent(email)}&page_size=250`)
  )
  return (body as unknown as ReadonlyArray<{ readonly body: string }>).map((message) => message.body)
}
