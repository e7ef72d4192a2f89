import { errors, interactionPolicy, type KoaContextWithOIDC } from "oidc-provider"
import { scopesOf } from "./ClientFields.ts"
import { silentMark } from "./Requests.ts"
import { type Store } from "./Store.ts"

const { Check, Prompt, base } = interactionPolicy

/**
 * When the library asks: always, until the bridge has answered. The bridge knows whether the user must be asked, and
 * answers at once if not.
 */
export const policyOn = ({ client }: Store) => {
  const checkScope = new Check("scope", "a scope is not the client's", "invalid_scope", async ({ oidc }) => {
    const row = await client(oidc.client?.clientId ?? "")
    const allowed = row === undefined ? new Set<string>() : scopesOf(row)
    const foreign = [...oidc.requestParamScopes].find((scope) => !allowed.has(scope))
    if (foreign !== undefined) throw new errors.InvalidScope("requested scope is not allowed", foreign)
    return false
  })
  const askLogin = new Check("bridge", "the user must sign in", "login_required", ({ oidc }) => {
    if (oidc.result?.login !== undefined) return false
    const none = oidc.prompts.has("none")
    if (none || oidc.params?.[silentMark] !== undefined) {
      if (oidc.session?.accountId === undefined || isTooOld(oidc)) throw new errors.LoginRequired()
      // The session at the identity provider may have ended: the bridge must know, and asks no user.
      if (none) Object.assign(oidc.params ?? {}, { prompt: undefined, [silentMark]: "1" })
    }
    return true
  })
  const askConsent = new Check(
    "bridge",
    "the user must consent",
    "consent_required",
    ({ oidc }) => oidc.result?.consent === undefined
  )
  const policy = base()
  policy.clear()
  policy.add(new Prompt({ name: "login", requestable: true }, checkScope, askLogin))
  policy.add(new Prompt({ name: "consent", requestable: true }, askConsent))
  return policy
}

const isTooOld = ({ params, session }: KoaContextWithOIDC["oidc"]) =>
  params?.["max_age"] !== undefined && session?.past(Number(params["max_age"])) === true
