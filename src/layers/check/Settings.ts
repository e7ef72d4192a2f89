import { Cause, ConfigProvider, Effect, Exit, Layer, Logger, Redacted, type Scope } from "effect"
import { knownSettings, SettingError, text } from "../../domain/Settings.ts"
import { AnswerBudget } from "../../services/access/AnswerBudget.ts"
import { rateLimitScope } from "../../services/access/RateLimits.ts"
import { JwtSecret, TokenSettings } from "../../services/access/Tokens.ts"
import { layerAllSettings } from "../../services/AllSettings.ts"
import { IdPChoice } from "../identity/layer.ts"
import { layerHttpSettings } from "../net/Listener.ts"
import { layerOAuth2Settings } from "../oauth2/layer.ts"
import { layerOperationsSettings } from "../operations/layer.ts"
import { directUrl, layerExternal, PostgresAddress, readServerUri } from "../postgres/Address.ts"
import { DbSettings } from "../postgres/Db.ts"
import { embeddedPort, walLevel } from "../postgres/embedded/Embedded.ts"
import { extensionDirectories } from "../postgres/embedded/Extensions.ts"
import { databaseUri } from "../postgres/Installation.ts"
import { readStandbys, standbySettings } from "../postgres/standbys/Settings.ts"
import { observabilitySettings } from "../logs/Logs.ts"
import { givenJwtSecret, givenKeys, layerEncryptionKeys } from "../process/Secrets.ts"
import { workerCount } from "../process/WorkerSettings.ts"
import { layerExternalS3, publicEndpoint } from "../storage/Address.ts"
import { storeTimeout } from "../storage/client/Client.ts"
import { oldProgramsDirectory, upgradeAtStart } from "../upgrade/Settings.ts"
import { embeddedStoreSettings } from "../storage/Embedded.ts"

const layerTaken = Layer.mergeAll(
  IdPChoice.layer,
  layerOAuth2Settings,
  layerAllSettings,
  layerHttpSettings,
  layerOperationsSettings
)

const built = <A, E>(layer: Layer.Layer<A, E>) => Effect.asVoid(Layer.build(Layer.fresh(layer)))

const generated = Redacted.make("generated at the first start, so it is longer than any limit")

const tokens = Effect.gen(function* () {
  const secret = (yield* givenJwtSecret) ?? ((yield* databaseUri) === undefined ? generated : undefined)
  return yield* built(TokenSettings.layer.pipe(Layer.provide(Layer.succeed(JwtSecret, { secret }))))
})

const directAddress = Effect.flatMap(directUrl, (uri) =>
  uri === undefined ? Effect.void : Effect.asVoid(readServerUri(uri, "DATABASE_DIRECT_URL"))
)

/** The address of the database, and whether those of its pooler and standbys belong to it. */
const database = Effect.flatMap(databaseUri, (uri) =>
  uri === undefined
    ? Effect.void
    : Effect.flatMap(PostgresAddress, standbySettings).pipe(Effect.asVoid, Effect.provide(layerExternal(uri)))
)

const encryption = Effect.flatMap(databaseUri, (uri) =>
  uri === undefined ? Effect.asVoid(givenKeys) : built(layerEncryptionKeys)
)

const store = Effect.flatMap(text("S3_ENDPOINT", undefined), (endpoint) =>
  endpoint === undefined ? Effect.asVoid(publicEndpoint("")) : built(layerExternalS3)
)

type Reader = Effect.Effect<unknown, { readonly message: string }, Scope.Scope>

/** What reads the settings that parts of the service read when they start, without an effect on anything else. */
const others: ReadonlyArray<Reader> = [
  built(DbSettings.layer),
  built(AnswerBudget.layer),
  observabilitySettings,
  rateLimitScope,
  workerCount,
  directAddress,
  readStandbys,
  database,
  tokens,
  encryption,
  embeddedPort,
  extensionDirectories,
  walLevel,
  embeddedStoreSettings,
  storeTimeout,
  store,
  upgradeAtStart,
  oldProgramsDirectory
]

/** The variables in a message, whose first one is that of the fault. */
const variablesIn = (message: string) => message.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\b/g) ?? []

/**
 * The faults of all settings. A reader ends at the first fault it finds, so it runs again without that variable until it
 * succeeds. What another fault leads to is left out: that a setting lacks one that is set, but invalid.
 */
export const settingFaults: Effect.Effect<ReadonlyArray<string>> = Effect.gen(function* () {
  const given = yield* ConfigProvider.ConfigProvider
  const wrong = new Set<string>()
  const without = ConfigProvider.make((path) => (wrong.has(String(path[0])) ? Effect.undefined : given.load(path)))
  const isSet = (name: string) =>
    Effect.map(Effect.orDie(without.load([name])), (node) => (node?.value ?? "").trim() !== "")
  const faults: Array<string> = []
  const all: ReadonlyArray<Reader> = [built(layerTaken), ...others]
  for (const reader of all) {
    for (let again = true; again;) {
      again = false
      const exit = yield* reader.pipe(
        Effect.scoped,
        Effect.provideService(ConfigProvider.ConfigProvider, without),
        // A start logs what is worth a warning when it reads the settings itself.
        Effect.provide(Logger.layer([])),
        Effect.exit
      )
      if (Exit.isSuccess(exit)) continue
      const failures = exit.cause.reasons.filter(Cause.isFailReason)
      if (failures.length === 0) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
      for (const { message } of failures.map(({ error }) => error)) {
        const names = variablesIn(message)
        if (!names.some((name) => wrong.has(name)) && !faults.includes(message)) faults.push(message)
        const culprit = (yield* Effect.filter(names, isSet))[0]
        if (culprit === undefined) continue
        wrong.add(culprit)
        again = true
      }
    }
  }
  return faults
})

/** The names of all settings of the service. */
export const settingNames = Effect.map(settingFaults, () => knownSettings().map(({ name }) => name))

/** Fails with every invalid setting, if there is one. */
export const failWithFaults = Effect.flatMap(settingFaults, (faults) =>
  faults.length === 0
    ? Effect.void
    : Effect.failCause(Cause.fromReasons(faults.map((message) => Cause.makeFailReason(new SettingError({ message })))))
)

/** The settings that services take from their context. Fails with every invalid setting. */
export const layerSettings = layerTaken.pipe(Layer.tapCause(() => failWithFaults))

/** Fails with every invalid setting before anything is started. `layerSettings` reads the rest once, so that a start reads little twice. */
export const layerValidSettings = Layer.effectDiscard(
  Effect.forEach(others, (reader) => Effect.scoped(reader), { discard: true }).pipe(
    Effect.provide(Logger.layer([])),
    Effect.catchCause(() => failWithFaults)
  )
)
