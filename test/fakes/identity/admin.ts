import { randomBytes, randomUUID } from "node:crypto"
import { type Person, type SecurityKey, type State } from "./state.ts"
import { type Call, failure, identityJson, missing, type Reply } from "./wire.ts"

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined)
const objectOf = (value: unknown) =>
  (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>

/** POST /admin/identities */
export const createIdentity = (state: State, { body }: Call): Reply => {
  const traits = objectOf(body["traits"])
  const email = String(traits["email"])
  const now = new Date().toISOString()
  const password = objectOf(objectOf(objectOf(body["credentials"])["password"])["config"])["password"]
  const given = ((body["verifiable_addresses"] ?? []) as ReadonlyArray<{ value?: string; verified?: boolean }>).find(
    ({ value }) => value === email
  )
  const person: Person = {
    id: randomUUID(),
    schemaId: textOf(body["schema_id"]) ?? "default",
    createdAt: now,
    updatedAt: now,
    state: "active",
    traits,
    metadataPublic: body["metadata_public"],
    metadataAdmin: body["metadata_admin"],
    password: textOf(password),
    totp: undefined,
    keys: [],
    passkeys: [],
    keyHandle: randomBytes(16).toString("base64url"),
    passkeyHandle: undefined,
    codes: [],
    addresses: [{ id: randomUUID(), value: email, verified: given?.verified === true }]
  }
  state.people.set(person.id, person)
  return { status: 201, body: adminJson(person, []) }
}

const find = (state: State, id: string) => {
  const person = state.people.get(id)
  if (person === undefined) throw missing()
  return person
}

const keyJson = ({ addedAt, displayName, id }: SecurityKey, is_passwordless: boolean) => ({
  id: id.toString("base64"),
  display_name: displayName,
  added_at: addedAt,
  is_passwordless
})

/** Credential types that are set up; `webauthn` is listed for every identity, since a trait is its identifier. */
const credentialsJson = (person: Person, declassified: ReadonlyArray<string>) => {
  const email = String(person.traits["email"] ?? "")
  const all: Readonly<Record<string, { readonly there: boolean; readonly config: unknown }>> = {
    password: { there: person.password !== undefined, config: {} },
    totp: { there: person.totp !== undefined, config: { totp_url: `otpauth://totp/${email}?secret=${person.totp}` } },
    webauthn: {
      there: true,
      config:
        person.keys.length === 0
          ? {}
          : { credentials: person.keys.map((key) => keyJson(key, false)), user_handle: person.keyHandle }
    },
    passkey: {
      there: person.passkeys.length > 0,
      config: { credentials: person.passkeys.map((key) => keyJson(key, true)) }
    },
    lookup_secret: {
      there: person.codes.length > 0,
      config: { recovery_codes: person.codes.map(({ code, usedAt }) => ({ code, used_at: usedAt })) }
    }
  }
  const there = Object.entries(all).filter(([, { there }]) => there)
  return Object.fromEntries(
    there.map(([type, { config }]) => [
      type,
      { type, identifiers: [email], version: 1, ...(declassified.includes(type) ? { config } : {}) }
    ])
  )
}

const adminJson = (person: Person, declassified: ReadonlyArray<string>) => ({
  ...identityJson(person),
  metadata_admin: person.metadataAdmin ?? null,
  credentials: credentialsJson(person, declassified)
})

/** GET /admin/identities/{id} */
export const getIdentity = (state: State, call: Call, id: string): Reply => {
  const wanted = call.url.searchParams.getAll("include_credential")
  return { status: 200, body: adminJson(find(state, id), wanted) }
}

/** PUT /admin/identities/{id} */
export const putIdentity = (state: State, { body }: Call, id: string): Reply => {
  const person = find(state, id)
  person.traits = objectOf(body["traits"])
  person.state = body["state"] === "inactive" ? "inactive" : "active"
  person.metadataPublic = body["metadata_public"]
  person.metadataAdmin = body["metadata_admin"]
  person.updatedAt = new Date().toISOString()
  return { status: 200, body: adminJson(person, []) }
}

/** DELETE /admin/identities/{id} */
export const deleteIdentity = (state: State, id: string): Reply => {
  state.close(find(state, id))
  state.people.delete(id)
  return { status: 204 }
}

/** GET /admin/identities: ordered by id; a page token is the last id of the page before. */
export const listIdentities = (state: State, { url }: Call): Reply => {
  const { searchParams } = url
  const size = Math.min(Number(searchParams.get("page_size") ?? 250), 1000)
  const after = searchParams.get("page_token") ?? ""
  if (after !== "" && !/^[0-9a-f-]{36}$/.test(after))
    throw failure({ status: 400, reason: "The page token is invalid, do not craft your own page tokens" })
  const identifier = searchParams.get("credentials_identifier") ?? ""
  const all = [...state.people.values()]
    .filter((person) => identifier === "" || person === state.byIdentifier(identifier))
    .filter(({ id }) => id > after)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const page = all.slice(0, size)
  const next = all.length > size ? page.at(-1)?.id : undefined
  const link = (rel: string, token: string) => `</admin/identities?page_size=${size}&page_token=${token}>; rel="${rel}"`
  const links = [link("first", "00000000-0000-0000-0000-000000000000"), ...(next ? [link("next", next)] : [])]
  return {
    status: 200,
    body: page.map((person) => Object.assign(identityJson(person), { metadata_admin: person.metadataAdmin ?? null })),
    headers: { link: links.join(",") }
  }
}

/** GET /admin/courier/messages: newest first. */
export const listMessages = (state: State, { url }: Call): Reply => {
  const recipient = url.searchParams.get("recipient")
  const found = state.messages.filter((message) => recipient === null || message.recipient === recipient)
  return {
    status: 200,
    body: found.map(({ body, createdAt, id, recipient, subject }) => ({
      id,
      recipient,
      subject,
      body,
      type: "email",
      status: "queued",
      template_type: "recovery_valid",
      created_at: createdAt
    }))
  }
}
