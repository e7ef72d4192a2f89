import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  discovery,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  tokenRevocation
} from "openid-client"

/** A client's registration. */
export interface Registered {
  readonly clientId: string
  /** "" for public clients. */
  readonly secret: string
  readonly method: "client_secret_basic" | "client_secret_post" | "none"
  readonly redirectUri: string
}

/** An application that signs users in with a certified library (npm openid-client). */
export interface RelyingParty {
  /** The URL that starts the flow, and the values to check its result with. */
  readonly begin: (parameters?: Readonly<Record<string, string>>) => Promise<Attempt>
  /** Exchanges the URL that the browser returns with for tokens; rejects invalid ones. */
  readonly finish: (attempt: Attempt, back: URL) => ReturnType<typeof authorizationCodeGrant>
  readonly refresh: (token: string) => ReturnType<typeof refreshTokenGrant>
  readonly userinfo: (accessToken: string, subject: string) => ReturnType<typeof fetchUserInfo>
  readonly revoke: (token: string) => Promise<void>
  readonly logoutUrl: (parameters: Readonly<Record<string, string>>) => URL
}

export interface Attempt {
  readonly url: URL
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  readonly maxAge: number | undefined
}

const authentication = ({ method, secret }: Registered) =>
  method === "none" ? None() : method === "client_secret_post" ? ClientSecretPost(secret) : ClientSecretBasic(secret)

export const startRelyingParty = async (issuer: string, client: Registered): Promise<RelyingParty> => {
  const config: Configuration = await discovery(new URL(issuer), client.clientId, undefined, authentication(client), {
    // The tests' servers are on loopback.
    execute: [allowInsecureRequests]
  })
  return {
    begin: async (parameters = {}) => {
      const [verifier, state, nonce] = [randomPKCECodeVerifier(), randomState(), randomNonce()]
      const url = buildAuthorizationUrl(config, {
        redirect_uri: client.redirectUri,
        scope: "openid offline",
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
        ...parameters
      })
      const maxAge = parameters["max_age"]
      return { url, verifier, state, nonce, maxAge: maxAge === undefined ? undefined : Number(maxAge) }
    },
    finish: ({ maxAge, nonce, state, verifier }, back) =>
      authorizationCodeGrant(config, back, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        ...(maxAge === undefined ? {} : { maxAge }),
        idTokenExpected: true
      }),
    refresh: (token) => refreshTokenGrant(config, token),
    userinfo: (accessToken, subject) => fetchUserInfo(config, accessToken, subject),
    revoke: (token) => tokenRevocation(config, token),
    logoutUrl: (parameters) => buildEndSessionUrl(config, { ...parameters })
  }
}
