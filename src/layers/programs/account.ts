import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeSink from "@effect/platform-node/NodeSink"
import { Cause, Console, Effect, Layer, Schema, Stream } from "effect"
import { exportText } from "../../domain/identity/KratosIdentity.ts"
import { secret } from "../../domain/Settings.ts"
import { AccountSettings } from "../../services/identity/AccountSettings.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import * as identityProvider from "../identity/layer.ts"
import { layerDb, layerOwnTables } from "../postgres/Db.ts"
import { layerServerCheck } from "../postgres/servers/ServerCheck.ts"
import { DataDir } from "../process/DataDir.ts"
import { layerEncryptionKeys, layerEncryptionKeysKept } from "../process/Secrets.ts"
import { startFailure } from "../process/StartError.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"

const usage = `Usage: npm run account -- <command> <e-mail address>
  create   creates an account, and prints a link that signs its owner in
  admin    makes the account an administrator; creates it if there is none
  recover  prints a link that signs its owner in
npm run --silent account -- export
  prints all accounts with their password hashes, as Ory Kratos imports them`

const printExport = Effect.gen(function* () {
  const { exported } = yield* (yield* Accounts).admin
  const onError = (cause: unknown) => new Cause.UnknownError(cause, "The export was not printed completely")
  const stdout = NodeSink.fromWritable<Cause.UnknownError, string>({
    evaluate: () => process.stdout,
    onError,
    endOnDone: false
  })
  yield* Stream.run(exportText(exported), stdout)
})

/**
 * `npm run account -- …`: accounts, directly in the database, for operators without e-mail or without an administrator.
 * Works whether the service is running or not. The link is valid once, and leads to a new password.
 */
const program = Effect.gen(function* () {
  const [command, email, ...more] = process.argv.slice(2)
  if (command === "export" && email === undefined) return yield* printExport
  if (!["create", "admin", "recover"].includes(command ?? "") || email === undefined || more.length > 0) {
    yield* Console.error(usage)
    process.exitCode = 2
    return undefined
  }
  const admin = yield* (yield* Accounts).admin
  const { identities } = yield* (yield* IdP).identities({ pageSize: 1, identifier: email })
  const [found] = identities
  if (command === "recover" && found === undefined) {
    yield* Console.error(`There is no account with the address ${email}`)
    process.exitCode = 1
    return undefined
  }
  const identity =
    found !== undefined && command !== "create" ? found : yield* admin.create({ email, traits: {}, verified: true })
  if (command === "admin") {
    yield* admin.makeAdministrator(identity.id)
    yield* Console.log(`Administrator: ${identity.id}`)
  }
  return yield* Console.log((yield* admin.recoveryLink(identity.id)).link)
})

/** An error of the service's own, whose text is for people. */
const isRefusal = Schema.is(Schema.Struct({ error: Schema.String, code: Schema.String }))

const EncryptionKeysOfDatabase = Layer.unwrap(
  Effect.map(secret("DATABASE_URL"), (uri) =>
    uri === undefined ? layerEncryptionKeysKept.pipe(Layer.provide(DataDir.layer)) : layerEncryptionKeys
  )
)

const Parts = identityProvider.layerPorts.pipe(
  Layer.provideMerge(identityProvider.layerKeys),
  Layer.provide(EncryptionKeysOfDatabase),
  Layer.provideMerge(layerDb),
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, ExposedSchemas.layer)),
  Layer.provide(layerServerCheck),
  Layer.provide(layerMainDatabase),
  Layer.provideMerge(Layer.mergeAll(AccountSettings.layer, identityProvider.IdPChoice.layer))
)

program.pipe(
  Effect.provide(Parts),
  Effect.catchIf(isRefusal, ({ error }) =>
    Effect.andThen(
      Console.error(error),
      Effect.sync(() => (process.exitCode = 1))
    )
  ),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
