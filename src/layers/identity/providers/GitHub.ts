import { Schema } from "effect"
import { type ProviderProtocol } from "../../../services/ports/identity/Providers.ts"
import { authenticationOf, library } from "./Oidc.ts"
import { asking, boundedFetch, redeeming, timeoutSeconds } from "./Requests.ts"
import { type ProviderSettings } from "./Settings.ts"

const User = Schema.decodeUnknownPromise(
  Schema.Struct({ id: Schema.Int, login: Schema.String, name: Schema.optionalKey(Schema.NullOr(Schema.String)) })
)
const Emails = Schema.decodeUnknownPromise(
  Schema.Array(Schema.Struct({ email: Schema.String, primary: Schema.Boolean, verified: Schema.Boolean }))
)

/**
 * GitHub, or a GitHub Enterprise Server at another address: OAuth 2.0 without ID tokens; an API returns the person who
 * signed in.
 */
export const makeGitHub = ({
  clientId,
  clientSecret,
  id,
  issuer,
  label,
  scopes
}: ProviderSettings): ProviderProtocol => {
  const base = issuer.href.replace(/\/$/, "")
  const api = issuer.hostname === "github.com" ? "https://api.github.com" : `${base}/api/v3`
  const own = `${base}/login/oauth`

  const configured = async () => {
    const client = await library()
    const server = {
      issuer: own,
      authorization_endpoint: `${own}/authorize`,
      token_endpoint: `${own}/access_token`,
      token_endpoint_auth_methods_supported: ["client_secret_post"]
    }
    const config = new client.Configuration(server, clientId, undefined, authenticationOf(client, clientSecret))
    config[client.customFetch] = boundedFetch
    config.timeout = timeoutSeconds
    if (issuer.protocol === "http:") client.allowInsecureRequests(config)
    return { client, config }
  }

  return {
    id,
    label,
    start: ({ callback, state, verifier }) =>
      asking(label, async () => {
        const { client, config } = await configured()
        return client.buildAuthorizationUrl(config, {
          redirect_uri: callback,
          scope: scopes.join(" "),
          state,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256"
        }).href
      }),
    finish: ({ callback, state, verifier }, query) =>
      redeeming(label, async () => {
        const { client, config } = await configured()
        const { access_token, refresh_token } = await client.authorizationCodeGrant(
          config,
          new URL(`${callback}?${query}`),
          {
            pkceCodeVerifier: verifier,
            expectedState: state
          }
        )
        const get = async (path: string): Promise<unknown> => {
          const headers = new Headers({ accept: "application/vnd.github+json" })
          const answer = await client.fetchProtectedResource(
            config,
            access_token,
            new URL(`${api}${path}`),
            "GET",
            undefined,
            headers
          )
          if (!answer.ok) throw new Error("GitHub's API refused the request")
          return answer.json()
        }
        const user = await User(await get("/user"))
        // The address in the profile is not verified; the account's addresses have a flag for that.
        const emails = await Emails(await get("/user/emails"))
        const primary = emails.find((one) => one.primary)
        const person = {
          issuer: own,
          subject: String(user.id),
          email: primary?.email,
          verified: primary?.verified === true,
          name: user.name?.slice(0, 200) || undefined,
          account: user.login.slice(0, 200)
        }
        return { person, token: access_token, refreshToken: refresh_token }
      })
  }
}
