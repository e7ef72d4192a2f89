/** The parameters of an authorization request, as the library keeps them. */
type Params = Readonly<Record<string, unknown>>

/**
 * Marks of this server in the parameters of a request. `svc_silent`: it had prompt=none, which the library must not see,
 * because the bridge answers it. `svc_offline`: prompt=consent is the server's, not the client's.
 */
export const silentMark = "svc_silent"
export const offlineMark = "svc_offline"

const textIn = (params: Params, name: string) => (typeof params[name] === "string" ? params[name] : "")
const wordsIn = (params: Params, name: string) => textIn(params, name).split(" ").filter(Boolean)

export const scopesIn = (params: Params): ReadonlyArray<string> => wordsIn(params, "scope")

export const audiencesIn = ({ resource }: Params): ReadonlyArray<string> =>
  (Array.isArray(resource) ? resource : [resource]).filter((one) => typeof one === "string")

/** What the client requested with `prompt`. */
export const promptsIn = (params: Params): ReadonlySet<string> =>
  new Set(params[offlineMark] === undefined ? wordsIn(params, "prompt") : [])

/** The request as the client made it. */
export const requestUrlOf = (issuer: string, params: Params): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || name === silentMark || name === offlineMark) continue
    if (name === "prompt" && params[offlineMark] !== undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  }
  if (params[silentMark] !== undefined) query.set("prompt", "none")
  return `${issuer}/oauth2/auth?${query}`
}
