type Claims = Readonly<Record<string, unknown>>

/** The scopes of a token: `scope`, separated by spaces (RFC 9068 2.2.3), or Hydra's `scp`, also as an array. */
export const scopesOf = ({ scope, scp }: Claims): ReadonlyArray<unknown> | undefined => {
  const given = scope ?? scp
  return typeof given === "string" ? given.split(" ") : Array.isArray(given) ? given : undefined
}

/**
 * Whether a token of an OAuth 2.0 server is an access token (RFC 9068 2), not an ID token or logout token, which is
 * signed with the same keys: by the header's `typ`, else by the client and the scopes.
 */
export const isAccessToken = (typ: unknown, claims: Claims): boolean => {
  const type = String(typ ?? "JWT")
    .toLowerCase()
    .replace(/^application\//, "")
  if (type !== "jwt") return type === "at+jwt"
  const { client_id } = claims
  return typeof client_id === "string" && client_id !== "" && scopesOf(claims) !== undefined
}
