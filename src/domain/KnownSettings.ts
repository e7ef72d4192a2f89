import { Schema } from "effect"
import { mask } from "./connections/Params.ts"

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

export const rememberSecret = (name: string, isSet: boolean): void =>
  rememberSetting(name, isSet ? mask : "", undefined)

/** All settings that were read, by name. */
export const knownSettings = (): ReadonlyArray<KnownSetting> =>
  [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
