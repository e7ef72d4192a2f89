import { Effect, Redacted } from "effect"
import { integer, secret, SettingError, text } from "../../domain/Settings.ts"

const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/

/** The least length of a key. */
const minKey = 16

/** Off unless SVC_OPERATIONS_PORT is set, and beyond this machine only with a key. */
export const operationsSettings = Effect.gen(function* () {
  const port = yield* integer("SVC_OPERATIONS_PORT", undefined, 0, 65_535)
  const host = yield* text("SVC_OPERATIONS_HOST", "127.0.0.1")
  const key = yield* secret("SVC_OPERATIONS_KEY")
  if (key !== undefined && Redacted.value(key).trim().length < minKey) {
    return yield* new SettingError({ message: `SVC_OPERATIONS_KEY must have at least ${minKey} characters` })
  }
  if (port !== undefined && key === undefined && !loopback.test(host)) {
    return yield* new SettingError({
      message: `SVC_OPERATIONS_HOST is ${host}, from which others could read the metrics: set SVC_OPERATIONS_KEY too, or use 127.0.0.1`
    })
  }
  return port === undefined
    ? undefined
    : { port, host, key: key === undefined ? undefined : Redacted.value(key).trim() }
})
export type OperationsSettings = NonNullable<Effect.Success<typeof operationsSettings>>
