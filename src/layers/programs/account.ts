import * as NodeSink from "@effect/platform-node/NodeSink"
import { Cause, Effect, Layer, Stream } from "effect"
import { exportText } from "../../domain/identity/KratosIdentity.ts"
import { secret } from "../../domain/Settings.ts"
import { AccountSettings } from "../../services/identity/AccountSettings.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { CommandFailed, printResult } from "../process/Output.ts"
import * as identityProvider from "../identity/layer.ts"
import { layerDb, layerOwnTables } from "../postgres/Db.ts"
import { layerServerCheck } from "../postgres/servers/ServerCheck.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerEncryptionKeys, layerEncryptionKeysKept } from "../process/Secrets.ts"
import { layerWebhookTransport } from "../webhooks/Transport.ts"
import { WebhookSettings } from "../../services/webhooks/Settings.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"

const EncryptionKeysOfDatabase = Layer.unwrap(
  Effect.map(secret("DATABASE_URL"), (uri) =>
    uri === undefined ? layerEncryptionKeysKept.pipe(Layer.provide(DataDir.layer)) : layerEncryptionKeys
  )
)

/** Accounts and their database. */
export const layerAccountsOfProgram = identityProvider.layerPorts.pipe(
  Layer.provideMerge(identityProvider.layerKeys),
  Layer.provide(layerWebhookTransport.pipe(Layer.provide(WebhookSettings.layer))),
  Layer.provide(EncryptionKeysOfDatabase),
  Layer.provideMerge(layerDb),
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, ExposedSchemas.layer)),
  Layer.provide(layerServerCheck),
  Layer.provide(layerMainDatabase),
  Layer.provideMerge(Layer.mergeAll(AccountSettings.layer, identityProvider.IdPChoice.layer))
)

/** `svc account export`: works whether the service is running or not. */
export const exportAccounts = Effect.fnUntraced(function* () {
  const { exported } = yield* (yield* Accounts).admin
  const onError = (cause: unknown) => new Cause.UnknownError(cause, "The export was not printed completely")
  const stdout = NodeSink.fromWritable<Cause.UnknownError, string>({
    evaluate: () => process.stdout,
    onError,
    endOnDone: false
  })
  yield* Stream.run(exportText(exported), stdout)
}, Effect.provide(layerAccountsOfProgram))

/**
 * `svc account …`: accounts, directly in the database, for operators without e-mail or without an administrator. Works whether
 * the service is running or not. The link is valid once, and leads to a new password.
 */
export const changeAccount = Effect.fnUntraced(function* (command: "create" | "admin" | "recover", email: string) {
  const admin = yield* (yield* Accounts).admin
  const { identities } = yield* (yield* IdP).identities({ pageSize: 1, identifier: email })
  const [found] = identities
  if (command === "recover" && found === undefined) {
    return yield* new CommandFailed({ message: `There is no account with the address ${email}`, code: 1 })
  }
  const identity =
    found !== undefined && command !== "create" ? found : yield* admin.create({ email, traits: {}, verified: true })
  if (command === "admin") yield* admin.makeAdministrator(identity.id)
  const { link } = yield* admin.recoveryLink(identity.id)
  const text = command === "admin" ? `Administrator: ${identity.id}\n${link}` : link
  return yield* printResult(text, { id: identity.id, administrator: command === "admin", link })
}, Effect.provide(layerAccountsOfProgram))
