import type { Client } from "./queries.ts"

/** The kinds of clients that the form knows, by what they need. */
export type Kind = "server" | "public" | "machine"

/** What the form has of a client, as it is typed: lists have a line for each item. */
export interface Draft {
  readonly name: string
  readonly redirects: string
  readonly logouts: string
  readonly origins: string
  readonly scope: string
  readonly skipConsent: boolean
  readonly logo: string
  readonly terms: string
  readonly policy: string
}

const lines = (list: ReadonlyArray<string>) => list.join("\n")
const listOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

export const draftOf = (client: Client | undefined): Draft => ({
  name: client?.client_name ?? "",
  redirects: lines(client?.redirect_uris ?? []),
  logouts: lines(client?.post_logout_redirect_uris ?? []),
  origins: lines(client?.allowed_cors_origins ?? []),
  scope: client?.scope ?? "openid email profile",
  skipConsent: client?.skip_consent ?? false,
  logo: client?.logo_uri ?? "",
  terms: client?.tos_uri ?? "",
  policy: client?.policy_uri ?? ""
})

/** The draft in the names of the API. */
export const fieldsOf = (draft: Draft) => ({
  client_name: draft.name.trim(),
  redirect_uris: listOf(draft.redirects),
  post_logout_redirect_uris: listOf(draft.logouts),
  allowed_cors_origins: listOf(draft.origins),
  scope: draft.scope.trim().split(/\s+/).join(" "),
  skip_consent: draft.skipConsent,
  logo_uri: draft.logo.trim(),
  tos_uri: draft.terms.trim(),
  policy_uri: draft.policy.trim()
})

/** Only what differs: another administrator may have changed the rest. */
export const changesOf = (client: Client, draft: Draft): Partial<ReturnType<typeof fieldsOf>> => {
  const before: Readonly<Record<string, unknown>> = fieldsOf(draftOf(client))
  return Object.fromEntries(
    Object.entries(fieldsOf(draft)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  )
}

const grants: Readonly<Record<Kind, object>> = {
  server: { grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "client_secret_basic" },
  public: { grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none" },
  machine: { grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" }
}

/** A new client: what is not filled in is left to the server. */
export const newClient = (kind: Kind, draft: Draft) => ({
  ...grants[kind],
  ...Object.fromEntries(
    Object.entries(fieldsOf(draft)).filter(([, value]) => value !== "" && value !== false && String(value) !== "")
  )
})

/** What is missing for this kind, by the field. */
export const problemsOf = (kind: Kind | undefined, draft: Draft): { readonly redirects?: string } =>
  kind !== undefined && kind !== "machine" && listOf(draft.redirects).length === 0
    ? { redirects: "At least one: users return there after signing in" }
    : {}
