import { Config, Data, Effect, Option, Redacted, Result, Schema } from "effect"
import { mask } from "./connections/Url.ts"
import { type Times, parseTimes } from "./schedules/Times.ts"

/** A setting as shown to administrators. */
export const KnownSetting = Schema.Struct({
  /** The environment variable. */
  name: Schema.String,
  /** The value in effect, as it would be written; null: none. Secrets and the passwords of URLs are `****`. */
  value: Schema.NullOr(Schema.String),
  default: Schema.NullOr(Schema.String),
  /** Whether the variable is set. */
  is_set: Schema.Boolean
}).annotate({ identifier: "Setting" })
export type KnownSetting = typeof KnownSetting.Type

/** The settings of this process. */
const known = new Map<string, KnownSetting>()

const withoutPassword = (text: string) => {
  if (!URL.canParse(text)) return text
  const { password } = new URL(text)
  return password === "" ? text : text.replace(/:[^:@/]*@/, `:${mask}@`)
}

/** Records a setting that was read. `given`: its text, "" if it is not set. */
export const rememberSetting = (name: string, given: string, fallback: string | undefined): void => {
  known.set(name, {
    name,
    value: given === "" ? (fallback ?? null) : withoutPassword(given),
    default: fallback ?? null,
    is_set: given !== ""
  })
}

const rememberSecret = (name: string, isSet: boolean): void => rememberSetting(name, isSet ? mask : "", undefined)

/** All settings that were read, by name. */
export const knownSettings = (): ReadonlyArray<KnownSetting> =>
  [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1))

/** A variable has an invalid value; the start ends with this line. */
export class SettingError extends Data.TaggedError("SettingError")<{ readonly message: string }> {}

/**
 * Readers of environment variables. Each takes the variable's name and default, and fails with one line that names the
 * variable and the values it accepts. Empty is the same as not set. docs/configuration.md lists all variables.
 */
const setting = <A>(
  name: string,
  fallback: A,
  accepted: string,
  parse: (text: string) => A | undefined,
  written: (value: A & {}) => string = String
) =>
  Effect.gen(function* () {
    const text = (yield* Effect.orDie(Config.String(name).pipe(Config.withDefault("")))).trim()
    rememberSetting(name, text, fallback == null ? undefined : written(fallback))
    if (text === "") return fallback
    const value = parse(text)
    return value === undefined
      ? yield* new SettingError({ message: `${name} must be ${accepted}, but it is "${text}"` })
      : value
  })

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const millisOf = (text: string) => {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * (units[match[2] ?? ""] ?? 1) : undefined
}

const written = (millis: number) => {
  const unit = ["d", "h", "m", "s"].find((unit) => millis % (units[unit] ?? 1) === 0) ?? "ms"
  return `${millis / (units[unit] ?? 1)}${unit}`
}

/** A duration in ms, written as `500ms`, `8s`, `5m`, `2h` or `7d`. */
export const duration = (name: string, fallback: number) =>
  setting(name, fallback, "a duration such as 500ms, 8s, 5m, 2h or 7d", millisOf, written)

/** Several durations, separated by commas. */
export const durations = (name: string, fallback: ReadonlyArray<number>) =>
  setting(
    name,
    fallback,
    "durations such as 5s,5m,2h",
    (text) => {
      const all = text.split(",").map((part) => millisOf(part.trim()))
      return all.every((millis) => millis !== undefined) ? all : undefined
    },
    (all) => all.map(written).join(",")
  )

/** `fallback` may be undefined, which is not set. */
export const integer = <A extends number | undefined = number>(
  name: string,
  fallback: A,
  minimum: number,
  maximum: number
) =>
  setting<number | A>(name, fallback, `a whole number from ${minimum} to ${maximum}`, (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= minimum && value <= maximum ? value : undefined
  })

export const flag = (name: string, fallback: boolean) =>
  setting(name, fallback, "true or false", (text) =>
    text.toLowerCase() === "true" ? true : text.toLowerCase() === "false" ? false : undefined
  )

export const oneOf = <const A extends string>(name: string, fallback: A, values: ReadonlyArray<A>) =>
  setting<A>(name, fallback, `one of ${values.join(", ")}`, (text) => values.find((value) => value === text))

export const text = <A extends string | undefined>(name: string, fallback: A) =>
  setting<string | A>(name, fallback, "text", (value) => value)

/** A schedule in UTC, and its times. */
export interface CronSetting {
  readonly expression: string
  readonly times: Times
}

/** A schedule; `fallback` may be undefined, which is not set. */
export const cron = Effect.fnUntraced(function* <A extends string | undefined>(name: string, fallback: A) {
  const given: string | A = yield* text(name, fallback)
  if (given === undefined) return undefined as A extends string ? never : undefined
  const parsed = parseTimes(given, "UTC")
  if (Result.isSuccess(parsed) && given.trim().split(/\s+/).length === 5) {
    return { expression: given, times: parsed.success } satisfies CronSetting
  }
  return yield* new SettingError({
    message: `${name} must be a cron expression of five fields such as 0 3 * * *, but it is "${given}"`
  })
})

/** A value that is never printed; undefined if not set. */
export const secret = (name: string) =>
  Effect.map(Effect.orDie(Config.option(Config.Redacted(name))), (given) => {
    const value = Option.filter(given, (value) => Redacted.value(value).trim() !== "")
    rememberSecret(name, Option.isSome(value))
    return Option.getOrUndefined(value)
  })

export const list = (name: string, fallback: ReadonlyArray<string>) =>
  setting<ReadonlyArray<string>>(name, fallback, "names separated by commas", (value) => {
    const names = value.split(",").map((part) => part.trim())
    return names.every((part) => part !== "") ? names : undefined
  })

export const url = (name: string) =>
  setting<URL | undefined>(name, undefined, "an absolute URL", (value) =>
    URL.canParse(value) ? new URL(value) : undefined
  )

/** An http or https URL to append paths to, without a trailing slash. */
export const baseUrl = (name: string) =>
  Effect.flatMap(url(name), (given) => {
    if (given === undefined) return Effect.undefined
    const { hash, origin, password, pathname, protocol, search, username } = given
    return /^https?:$/.test(protocol) && search === "" && hash === "" && username === "" && password === ""
      ? Effect.succeed(`${origin}${pathname.replace(/\/+$/, "")}`)
      : Effect.fail(
          new SettingError({
            message: `${name} must be an http or https URL without user, query and fragment, such as https://id.example.com`
          })
        )
  })
