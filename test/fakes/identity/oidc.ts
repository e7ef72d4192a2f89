import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"

/** A provider of OpenID Connect whose apps get ID tokens without a redirect. */
export interface FakeOidc extends AsyncDisposable {
  readonly url: string
  /** How often its keys were fetched. */
  fetches: number
  /** An ID token, valid for five minutes. `header` and `claims` replace what it would have; `forged`: with a key of its own. */
  readonly issue: (claims: JWTPayload, header?: object, forged?: boolean) => Promise<string>
}

export const startFakeOidc = async (): Promise<FakeOidc> => {
  const [own, strange] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")])
  const keys = [{ ...(await exportJWK(own.publicKey)), kid: "one", use: "sig" }]
  const server = createServer(({ url }, response) => {
    const json = (body: object) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
    if (url === "/keys") {
      fake.fetches++
      return json({ keys })
    }
    if (url !== "/.well-known/openid-configuration") return void response.writeHead(404).end()
    json({
      issuer: fake.url,
      authorization_endpoint: `${fake.url}/authorize`,
      token_endpoint: `${fake.url}/token`,
      jwks_uri: `${fake.url}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256", "HS256"]
    })
  })
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done))
  const fake: FakeOidc = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fetches: 0,
    issue: (claims, header = {}, forged = false) => {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ iss: fake.url, aud: "web", iat: now, exp: now + 300, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: "ES256", kid: "one", ...header })
        .sign(forged ? strange.privateKey : own.privateKey)
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => void server.close(done))
    }
  }
  return fake
}
