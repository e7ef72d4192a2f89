import { ConfigProvider, type Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { type JsonObject } from "../../../src/domain/text/JsonObject.ts"
import * as identityProvider from "../../../src/layers/identity/layer.ts"
import { layerWebhookTransport } from "../../../src/layers/webhooks/Transport.ts"
import { WebhookSettings } from "../../../src/services/webhooks/Settings.ts"
import { AccountSettings } from "../../../src/services/identity/AccountSettings.ts"
import { Mails } from "../../../src/services/identity/Mails.ts"
import { type IdentitySeals } from "../../../src/services/access/Seals.ts"
import { type OwnSigningKeys } from "../../../src/services/access/OwnSigningKeys.ts"
import { Accounts, CurrentDevice, type FactorProof } from "../../../src/services/ports/identity/Accounts.ts"
import { EncryptionKeys } from "../../../src/services/ports/EncryptionKeys.ts"
import { type IdP } from "../../../src/services/ports/IdP.ts"
import { type Database, layerDatabase } from "../database.ts"
import { type Authenticator } from "./authenticator.ts"
import { type IdPDriver, type IdPUnderTest } from "./idp.ts"

type Embedded = Database | IdP | Accounts | Mails | AccountSettings | OwnSigningKeys | IdentitySeals

export const ownUrl = "http://localhost:3000"

const encryptionKey = readEncryptionKey("11".repeat(32))!

/** The embedded identity provider on a new database, without HTTP. `settings`: environment variables. */
export const layerEmbedded = (name: string, settings: Readonly<Record<string, string>> = {}): Layer.Layer<Embedded> =>
  identityProvider.layer.pipe(
    Layer.provideMerge(identityProvider.layerKeys),
    Layer.provide(layerWebhookTransport.pipe(Layer.provide(WebhookSettings.layer))),
    Layer.provideMerge(layerDatabase({ name, settings })),
    Layer.provideMerge(Layer.mergeAll(AccountSettings.layer, identityProvider.IdPChoice.layer)),
    Layer.provide(Layer.succeed(EncryptionKeys, { current: encryptionKey, old: [] })),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ PUBLIC_URL: ownUrl, ...settings }))),
    Layer.orDie
  )

/** The device of the tests' people, which no limit counts. */
const device = { client: undefined, ip: "127.0.0.1", userAgent: "node" }

/** A driver of the contract's people by the ports themselves. */
const driverOf = (run: <A, E>(effect: Effect.Effect<A, E, Embedded>) => Promise<A>): IdPDriver => {
  const calls = Effect.flatMap(Accounts, ({ calls }) => calls)
  const admin = Effect.flatMap(Accounts, ({ admin }) => admin)
  const showFactor = (proof: FactorProof, credential: Parameters<IdPDriver["showFactor"]>[0]) =>
    run(Effect.flatMap(calls, (accounts) => accounts.showFactor(credential, proof)))
  return {
    makePerson: ({ email, metadata_public, name, password, verified }) =>
      run(
        Effect.gen(function* () {
          const { id } = yield* (yield* admin).create({
            email,
            password,
            traits: name === undefined ? {} : { name },
            ...(metadata_public === undefined ? {} : { metadataPublic: metadata_public as JsonObject }),
            ...(verified === undefined ? {} : { verified })
          })
          return id
        })
      ),
    signIn: (kind, { email, password }) =>
      run(
        Effect.flatMap(calls, (accounts) => accounts.signIn({ identifier: email, password, kind })).pipe(
          Effect.map(({ credential }) => credential),
          Effect.provideService(CurrentDevice, device)
        )
      ),
    signInAgain: (credential, { password }) =>
      run(Effect.flatMap(calls, (accounts) => accounts.reauthenticate(credential, password))),
    showFactor: (credential, body) =>
      showFactor(
        body["method"] === "totp"
          ? { method: "totp", code: String(body["totp_code"]) }
          : { method: "lookup_secret", code: String(body["lookup_secret"]) },
        credential
      ),
    showKey: async (credential, key: Authenticator) => {
      const { webauthn } = await run(Effect.flatMap(calls, (accounts) => accounts.dueFactors(credential)))
      const assertion = key.get(webauthn!.options.publicKey)
      return showFactor({ method: "webauthn", flowId: webauthn!.flowId, assertion }, credential)
    },
    enrolPasskey: (credential, key) =>
      run(
        Effect.gen(function* () {
          const accounts = yield* calls
          const { flowId, options } = yield* accounts.beginPasskey(credential)
          return yield* accounts.confirmPasskey(credential, flowId, key.create(options.publicKey), "")
        })
      ),
    setState: ({ id }, state) => run(Effect.flatMap(admin, (accounts) => accounts.change(id, { state }))),
    deletePerson: ({ id }) => run(Effect.flatMap(admin, (accounts) => accounts.remove(id))),
    messagesTo: (recipient) =>
      run(
        Effect.map(
          Effect.flatMap(Mails, (mails) => mails.list({ before: undefined, recipient })),
          ({ mails }) => mails.map(({ body }) => body ?? "")
        )
      ),
    openLink: (link) => {
      const { searchParams } = new URL(link)
      const [flow = "", token = ""] = [searchParams.get("flow"), searchParams.get("token")].map(String)
      return run(
        Effect.flatMap(calls, (accounts) => accounts.confirmRecovery(flow, { token }, "Cookie")).pipe(
          Effect.map(({ cookies }) => cookies),
          Effect.catchTag("Gone", () => Effect.succeed([]))
        )
      )
    }
  }
}

/** The embedded identity provider for the contract, started before the tests of the file. */
export const embeddedUnderTest = (name: string, settings: Readonly<Record<string, string>> = {}) => {
  const scope = Scope.makeUnsafe()
  let context: Context.Context<Embedded> | undefined
  beforeAll(async () => {
    context = await Effect.runPromise(Layer.buildWithScope(layerEmbedded(name, settings), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const run = <A, E>(effect: Effect.Effect<A, E, Embedded>) =>
    Effect.runPromise(Effect.provideContext(effect, context!))
  const idp: IdPUnderTest = {
    publicUrl: ownUrl,
    adminUrl: ownUrl,
    origin: ownUrl,
    loginPage: `${ownUrl}/auth/login`,
    driver: driverOf(run)
  }
  const port = Layer.effectContext(Effect.sync(() => context!))
  return { idp, port, run }
}
