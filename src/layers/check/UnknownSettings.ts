import { Effect, Layer } from "effect"
import { knownSettings } from "../../domain/Settings.ts"
import { similarNames } from "../../domain/text/SimilarNames.ts"
import { passphraseVariable } from "../moving/Files.ts"
import { numberVariable, workerNumber } from "../process/WorkerSettings.ts"
import { parentStoreVariable } from "../storage/Address.ts"

/** Variables that only commands read, or processes of the service set. */
const others = [passphraseVariable, "SVC_RECOVERY_KEY", "SVC_SERVICE_KEY", numberVariable, parentStoreVariable]

/** Variables that Kubernetes and Docker set for a service of the name `svc` or `svc-…`. */
const isLink = (name: string, value: string) =>
  /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP)/.test(name) || /^(?:tcp|udp):\/\//.test(value)

const fault = (name: string, names: ReadonlyArray<string>) => {
  const [, provider] = /^SVC_SIGN_IN_(\w+?)_(?:CLIENT|APP_CLIENT|ISSUER|LABEL|KIND|SCOPES)/.exec(name) ?? []
  if (provider !== undefined) {
    return `${name} has no effect: SVC_SIGN_IN_WITH does not have ${provider.toLowerCase().replaceAll("_", "-")}`
  }
  const [nearest] = similarNames(names, name, 0.6)
  return `${name} is not a setting of the service${nearest === undefined ? "" : `: the nearest is ${nearest.name}`}`
}

/** What is wrong with variables `SVC_…` that no setting has, once all settings have been read. */
export const unknownSettings = (env: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> => {
  const names = knownSettings()
    .map(({ name }) => name)
    .concat(others)
  const known = new Set(names)
  return Object.entries(env)
    .filter(([name, value = ""]) => name.startsWith("SVC_") && !known.has(name) && !isLink(name, value))
    .map(([name]) => fault(name, names))
}

/** Logs a warning for each of them. */
export const layerUnknownSettings = Layer.effectDiscard(
  Effect.suspend(() =>
    workerNumber === undefined
      ? Effect.forEach(unknownSettings(process.env), (text) => Effect.logWarning(text))
      : Effect.void
  )
)
