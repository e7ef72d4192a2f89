import { compactVerify, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { randomUUID } from "node:crypto"
import { OAuth2Error } from "./wire.ts"

/** The server's only signing key. */
export interface Keys {
  /** RFC 7517. */
  readonly jwks: { readonly keys: ReadonlyArray<object> }
  readonly sign: (claims: JWTPayload) => Promise<string>
  /** The claims of a token that this server signed, even if it has expired. */
  readonly verify: (token: string) => Promise<JWTPayload>
}

export const makeKeys = async (): Promise<Keys> => {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true })
  const kid = randomUUID()
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" }
  return {
    jwks: { keys: [jwk] },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid, typ: "JWT" }).sign(privateKey),
    verify: async (token) => {
      try {
        // An expired token still identifies its subject.
        const { payload } = await compactVerify(token, publicKey, { algorithms: ["RS256"] })
        return JSON.parse(new TextDecoder().decode(payload)) as JWTPayload
      } catch {
        throw new OAuth2Error(400, "invalid_request", "id_token_hint is not a token of this server")
      }
    }
  }
}
