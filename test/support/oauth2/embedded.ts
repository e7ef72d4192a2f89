import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { exportJWK, generateKeyPair, type JWK } from "jose"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { type EmbeddedOptions, layerOAuth2Embedded } from "../../../src/services/oauth2/server/Embedded.ts"
import { makePublicFetch } from "../../../src/layers/net/Outbound.ts"
import { type NodeHandler, OAuth2Endpoints } from "../../../src/services/oauth2/Endpoints.ts"
import { layerDatabase } from "../database.ts"

/** A private key that signs tokens. */
const makeKey = async (kid: string): Promise<{ readonly kid: string; readonly jwk: JWK }> => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true })
  return { kid, jwk: { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" } }
}

/**
 * The embedded server on a new database, listening on loopback without the service around it. The layer's `name` is part
 * of the database's.
 */
export const startEmbedded = async (name: string, options: Partial<EmbeddedOptions> = {}) => {
  let handler: NodeHandler | undefined
  const failures: Array<unknown> = []
  const listener = createServer((request, response) => {
    handler?.(request, response).catch((cause: unknown) => {
      failures.push(cause)
      if (!response.headersSent) response.writeHead(500).end(String(cause))
    })
  }).listen(0, "127.0.0.1")
  await once(listener, "listening")
  const publicUrl = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  const key = await makeKey("one")
  let expire = async () => {}

  const layerListening = Layer.effectDiscard(
    Effect.gen(function* () {
      const endpoints = yield* OAuth2Endpoints
      handler = yield* endpoints.handler ?? Effect.die("The embedded server has endpoints")
      const sql = yield* SqlClient.SqlClient
      const past = "set expires_at = now() - interval '1 second'"
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      expire = () =>
        run(
          Effect.andThen(
            sql.unsafe(`update svc.oauth2_challenges ${past}`),
            sql.unsafe(`update svc.oauth2_items ${past} where kind = 'Interaction'`)
          ).pipe(Effect.asVoid, Effect.orDie)
        )
    })
  )
  const port = layerListening.pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(makePublicFetch({ allowPrivate: false, setting: "SVC_OAUTH2_ALLOW_PRIVATE" }), (fetch) =>
          layerOAuth2Embedded({
            issuer: publicUrl,
            keys: Effect.succeed([key]),
            isActive: () => Effect.succeed(true),
            fetch,
            ...options
          })
        )
      )
    ),
    Layer.provideMerge(layerDatabase({ name }))
  )
  return {
    server: {
      publicUrl,
      adminUrl: undefined,
      /** Lets all pending challenges expire. */
      expire: Effect.promise(() => expire()),
      outwait: async () => {
        await expire()
        return () => undefined
      }
    },
    port,
    /** What the service would answer with a status of 500. */
    failures,
    close: () => new Promise((closed) => listener.close(closed))
  }
}
