import { errors, interactionPolicy, type KoaContextWithOIDC } from "oidc-provider"
import { decodeJwt } from "jose"
import { clientScopesOf } from "./clients/ClientFields.ts"
import { silentMark } from "./Requests.ts"
import { type OAuth2Store } from "./Store.ts"

const { Check, Prompt, base } = interactionPolicy

/**
 * The library always asks, until the bridge has answered. The bridge decides whether the user must be asked, and
 * answers at once if not. What becomes of each check of the library's base policy, which this one replaces:
 *
 * | check | here |
 * |---|---|
 * | no_session | `askLogin`; the bridge looks at the session of the identity provider |
 * | max_age | `isTooOld` for prompt=none, else `sufficient` (Challenges.ts) and the bridge |
 * | id_token_hint | `isHinted`: before prompt=none, and after each sign-in |
 * | claims_id_token_sub_value, essential_acr, essential_acrs, op_claims_missing | not needed: the parameter `claims` is not supported, and is ignored |
 * | native_client_prompt | `isAssured` (Consents.ts) |
 * | op_scopes_missing, rs_scopes_missing | `isCovered` (Consents.ts); a new grant for each request has only what was granted |
 * | rar_prompt | not needed: `authorization_details` is not supported |
 */
export const policyOn = ({ client }: OAuth2Store) => {
  const checkScope = new Check("scope", "a scope is not the client's", "invalid_scope", async ({ oidc }) => {
    const row = await client(oidc.client?.clientId ?? "")
    const allowed = row === undefined ? new Set<string>() : clientScopesOf(row)
    const foreign = [...oidc.requestParamScopes].find((scope) => !allowed.has(scope))
    if (foreign !== undefined) throw new errors.InvalidScope("requested scope is not allowed", foreign)
    return false
  })
  const askLogin = new Check("bridge", "the user must sign in", "login_required", ({ oidc }) => {
    const answered = oidc.result?.login !== undefined
    if (answered && oidc.account === undefined) throw new errors.AccessDenied("the user is not active")
    if (answered && !isHinted(oidc))
      throw new errors.LoginRequired("another user has signed in than id_token_hint names")
    if (answered) return false
    const none = oidc.prompts.has("none")
    if (none || oidc.params?.[silentMark] !== undefined) {
      // The library turns max_age=0 into prompt=login, even beside prompt=none.
      const renewed = oidc.prompts.has("login")
      if (oidc.account === undefined || renewed || isTooOld(oidc) || !isHinted(oidc)) throw new errors.LoginRequired()
      // The session at the identity provider may have ended: the bridge checks that without asking the user.
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

/** Whether the user is the one of the ID token in the request, which the library has verified, if there is one. */
const isHinted = ({ params, session }: KoaContextWithOIDC["oidc"]) => {
  const hint = params?.["id_token_hint"]
  return typeof hint !== "string" || decodeJwt(hint).sub === session?.accountId
}

const isTooOld = ({ params, session }: KoaContextWithOIDC["oidc"]) =>
  params?.["max_age"] !== undefined && session?.past(Number(params["max_age"])) === true
