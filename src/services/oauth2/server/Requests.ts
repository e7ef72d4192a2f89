/** The parameters of an authorization request, as the library keeps them. */
type Params = Readonly<Record<string, unknown>>

/**
 * Marks of this server in the parameters of a request. `svc_silent`: it had prompt=none, which the library must not see,
 * because the bridge answers it. `svc_offline`: the consent in prompt is the server's, not the client's.
 */
export const silentMark = "svc_silent"
export const offlineMark = "svc_offline"

const textIn = (params: Params, name: string) => (typeof params[name] === "string" ? params[name] : "")
const wordsIn = (params: Params, name: string) => textIn(params, name).split(" ").filter(Boolean)

export const scopesIn = (params: Params): ReadonlyArray<string> => wordsIn(params, "scope")

export const audiencesIn = ({ resource }: Params): ReadonlyArray<string> =>
  (Array.isArray(resource) ? resource : [resource]).filter((one) => typeof one === "string")

/** The values of `prompt` that the client requested. */
export const promptsIn = (params: Params): ReadonlySet<string> => {
  const prompts = new Set(wordsIn(params, "prompt"))
  if (params[offlineMark] !== undefined) prompts.delete("consent")
  if (params[silentMark] !== undefined) prompts.add("none")
  return prompts
}

/** The request as the client made it. */
export const requestUrlOf = (issuer: string, params: Params): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || name === silentMark || name === offlineMark || name === "prompt") continue
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  }
  const prompts = [...promptsIn(params)]
  if (prompts.length > 0) query.set("prompt", prompts.join(" "))
  return `${issuer}/oauth2/auth?${query}`
}
