import { randomBytes } from "node:crypto"
import { applyPatch } from "./jsonPatch.ts"
import { type FakeRequest, empty, json, objectOf, OAuth2Error, type Reply } from "./wire.ts"
import { type Client, type Clients, type StoredClient, uuid } from "./state.ts"
import { pageOf } from "./pages.ts"

const bad = (description: string, code = "invalid_client_metadata") => new OAuth2Error(400, code, description)

const textOf = (fields: Readonly<Record<string, unknown>>, name: string, otherwise = "") => {
  const value = fields[name] ?? otherwise
  if (typeof value !== "string") throw bad(`${name} must be a string`)
  return value
}

const textsOf = (fields: Readonly<Record<string, unknown>>, name: string): ReadonlyArray<string> => {
  const value = fields[name] ?? []
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
    throw bad(`${name} must be an array of strings`)
  return value
}

const emptyJwks = (jwks: unknown) =>
  jwks === undefined || jwks === null || ((jwks as { readonly keys?: unknown }).keys ?? undefined) === undefined

/** Validates a registration and adds defaults. */
const validated = (fields: Readonly<Record<string, unknown>>, before: Client | undefined): Client => {
  const redirects = textsOf(fields, "redirect_uris")
  for (const uri of redirects) {
    if (uri.includes("#")) throw bad("Redirect URIs must not have a fragment", "invalid_redirect_uri")
    if (!URL.canParse(uri)) throw bad("Invalid redirect URI", "invalid_redirect_uri")
  }
  for (const name of ["logo_uri", "tos_uri", "policy_uri", "client_uri"]) {
    if (textOf(fields, name) !== "" && !/^https?:\/\//.test(textOf(fields, name)))
      throw bad(`${name} must be an HTTP URL`)
  }
  const after = textsOf(fields, "post_logout_redirect_uris")
  const origins = new Set(redirects.map((uri) => new URL(uri).host))
  for (const uri of after) {
    if (!URL.canParse(uri) || !origins.has(new URL(uri).host))
      throw bad("A logout URI must have the host of a redirect URI")
  }
  const jwksUri = textOf(fields, "jwks_uri")
  const method = textOf(fields, "token_endpoint_auth_method") || "client_secret_basic"
  if (method === "private_key_jwt" && jwksUri === "" && emptyJwks(fields["jwks"]))
    throw bad("jwks or jwks_uri is required")
  const secret = textOf(fields, "client_secret")
  if (secret !== "" && secret.length < 6) throw bad("The secret is too short")
  // Created without and updated with fractional seconds, as real servers return them.
  const now = new Date().toISOString()
  const { client_secret: _, ...kept } = fields
  return {
    owner: "",
    contacts: [],
    allowed_cors_origins: [],
    logo_uri: "",
    tos_uri: "",
    policy_uri: "",
    client_uri: "",
    skip_consent: false,
    skip_logout_consent: null,
    userinfo_signed_response_alg: "none",
    ...kept,
    jwks: fields["jwks"] ?? {},
    client_secret_expires_at: 0,
    subject_type: "public",
    metadata: fields["metadata"] ?? {},
    client_id: textOf(fields, "client_id") || uuid(),
    client_name: textOf(fields, "client_name"),
    redirect_uris: redirects,
    post_logout_redirect_uris: after,
    grant_types: textsOf(fields, "grant_types"),
    response_types: textsOf(fields, "response_types"),
    audience: textsOf(fields, "audience"),
    scope: textOf(fields, "scope") || "offline_access offline openid",
    token_endpoint_auth_method: method,
    created_at: before?.["created_at"] ?? now.replace(/\.\d+/, ""),
    updated_at: now.replace("Z", "123Z")
  }
}

const create = (clients: Clients, request: FakeRequest): Reply => {
  const fields = objectOf(request)
  const client = validated(fields, undefined)
  if (clients.has(client.client_id)) throw new OAuth2Error(409, "There is a client of this id")
  const secret = textOf(fields, "client_secret") || randomBytes(20).toString("base64url")
  clients.set(client.client_id, { client, secret })
  const shown = client.token_endpoint_auth_method === "none" ? {} : { client_secret: secret }
  return json(201, { ...client, ...shown, registration_access_token: "rat_not-for-anybody" })
}

const patch = (clients: Clients, { client, secret }: StoredClient, request: FakeRequest): Reply => {
  // As on real servers, any error in a patch is a server error.
  const patched = applyPatch({ ...client, client_secret: "unchanged" }, JSON.parse(request.text)) as Client
  const given = textOf(patched, "client_secret")
  const next = validated(patched, client)
  const changed = given !== "unchanged"
  clients.set(client.client_id, { client: next, secret: changed ? given : secret })
  return json(200, changed ? { ...next, client_secret: given } : next)
}

/** `/admin/clients` and the paths below it. */
export const clientsHandler = (clients: Clients, request: FakeRequest, id: string | undefined): Reply => {
  if (id === undefined) {
    if (request.method === "POST") return create(clients, request)
    const all = [...clients.values()].map(({ client }) => client)
    return pageOf(request, all, ({ client_id }) => client_id)
  }
  const stored = clients.get(id)
  if (stored === undefined) throw new OAuth2Error(404, "No such client")
  if (request.method === "GET") return json(200, stored.client)
  if (request.method === "PATCH") return patch(clients, stored, request)
  if (request.method === "DELETE") {
    clients.delete(id)
    return empty
  }
  const fields = objectOf(request)
  const client = validated({ ...fields, client_id: id }, stored.client)
  clients.set(id, { client, secret: textOf(fields, "client_secret") || stored.secret })
  return json(200, client)
}
