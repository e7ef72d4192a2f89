import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose"
import { JwtSecret, Tokens, TokenSettings } from "../../../src/services/access/Tokens.ts"
import { OwnSigningKeys } from "../../../src/services/access/OwnSigningKeys.ts"

export const secret = "a test secret that is long enough!"
/** The current time of the tests, in seconds since 1970. */
export const now = 1_800_000_000

const layerTokens = (env: Record<string, string>, key: Redacted.Redacted<string> | undefined) =>
  Tokens.layer.pipe(
    Layer.provide([TokenSettings.layer, OwnSigningKeys.layerNone]),
    Layer.provide(Layer.succeed(JwtSecret, { secret: key })),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
  )
/** Tokens with and without a secret for HS256. */
export const tokens = (env: Record<string, string>, key: string = secret) => layerTokens(env, Redacted.make(key))
export const noSecret = (env: Record<string, string>) => layerTokens(env, undefined)

export const base64url = (text: string) => Buffer.from(text).toString("base64url")

/** An HS256 token of exactly this payload text and header. */
export const hs256 = (payload: string, header: object = { alg: "HS256", typ: "JWT" }, key: string = secret) => {
  const input = `${base64url(JSON.stringify(header))}.${base64url(payload)}`
  return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`
}

export const verify = (token: string) => Effect.flatMap(Tokens, ({ verify }) => verify(token))

/** The error code that a token is refused with. */
export const code = (token: string) => Effect.map(Effect.flip(verify(token)), (error) => error.code)

/** A key pair of an issuer: the public key as it is published, and a signer with the private one. */
export interface Issuer {
  readonly jwk: JWK
  readonly publicKey: CryptoKey
  readonly sign: (payload: JWTPayload, header?: Record<string, unknown>) => Promise<string>
}

export const issuer = async (alg: string, kid: string, published: Partial<JWK> = {}): Promise<Issuer> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig", ...published },
    publicKey,
    sign: (payload, header = {}) => new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  }
}

/** A JWKS server on loopback. `answer`, a status and a body, may be changed at any time. */
export interface JwksServer {
  readonly url: string
  requests: number
  answer: { status: number; body: unknown }
}

export const jwksServer = (keys: ReadonlyArray<JWK>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const state: JwksServer = { url: "", requests: 0, answer: { status: 200, body: { keys } } }
      const server = createServer((_request, response) => {
        state.requests += 1
        response.writeHead(state.answer.status, { "content-type": "application/json" })
        response.end(JSON.stringify(state.answer.body))
      })
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      const { port } = server.address() as AddressInfo
      return { server, state: Object.assign(state, { url: `http://127.0.0.1:${port}/.well-known/jwks.json` }) }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise<void>((closed) => server.close(() => closed()))
      })
  ).pipe(Effect.map(({ state }) => state))
