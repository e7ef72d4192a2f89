import { Effect, Redacted } from "effect"
import { flag, secret, SettingError, text } from "../../domain/Settings.ts"
import {
  hookNames,
  type HookName,
  type HookTarget,
  hookUri,
  readHookSecrets,
  readHookTarget
} from "../../domain/identity/hooks/Target.ts"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { supabaseEnabled } from "../supabase/Settings.ts"

export type Hooks = Readonly<Partial<Record<HookName, HookTarget>>>

/** A hook of Supabase that has nothing to do here. */
const phones = "GOTRUE_HOOK_SEND_SMS"

/** The settings of one hook under a name; undefined if it is not set, or disabled. */
const hookOf = Effect.fnUntraced(function* (setting: string) {
  const uri = yield* text(`${setting}_URI`, undefined)
  const given = yield* secret(`${setting}_SECRETS`)
  const secrets = given === undefined ? [] : readHookSecrets(Redacted.value(given))
  const invalidSecrets = new SettingError({
    message: `${setting}_SECRETS must be v1,whsec_<base64 of 24 to 64 bytes>, or several of them separated by |: they sign the requests to ${setting}_URI`
  })
  if (secrets === undefined) return yield* invalidSecrets
  if (!(yield* flag(`${setting}_ENABLED`, uri !== undefined))) return undefined
  const target = readHookTarget(uri ?? "", secrets)
  if (typeof target === "string") return yield* new SettingError({ message: `${setting}_URI ${target}` })
  if (target._tag === "HttpEndpoint" && secrets.length === 0) return yield* invalidSecrets
  return target
})

const isPrivate = (target: HookTarget) => {
  if (target._tag !== "HttpEndpoint") return false
  const host = new URL(target.url).hostname.replaceAll(/^\[|\]$/g, "")
  return host === "localhost" || (/^[\d.]+$|:/.test(host) && !isPublicAddress(host))
}

/**
 * Hooks of sign-ups and sign-ins. Each has two names of settings: Supabase's, for its projects, and the service's own. One
 * with a URI is on, unless it is disabled.
 */
export const hookSettings = Effect.gen(function* () {
  const hooks: Partial<Record<HookName, HookTarget>> = {}
  const supabase = yield* supabaseEnabled
  const allowPrivate = yield* flag("WEBHOOK_ALLOW_PRIVATE", false)
  const sms = yield* text(`${phones}_URI`, undefined)
  if (yield* flag(`${phones}_ENABLED`, sms !== undefined)) {
    return yield* new SettingError({
      message: `${phones}_${sms === undefined ? "ENABLED" : "URI"} is not supported: this service has no accounts with phone numbers`
    })
  }
  for (const name of hookNames) {
    const theirs = yield* hookOf(`GOTRUE_HOOK_${name}`)
    const own = yield* hookOf(`SVC_HOOK_${name}`)
    if (theirs !== undefined && own !== undefined) {
      return yield* new SettingError({
        message: `SVC_HOOK_${name}_URI and GOTRUE_HOOK_${name}_URI must not both be set`
      })
    }
    if (theirs !== undefined && !supabase) {
      return yield* new SettingError({
        message: `GOTRUE_HOOK_${name}_URI requires SVC_SUPABASE=true; without it, set SVC_HOOK_${name}_URI`
      })
    }
    const target = own ?? theirs
    if (target === undefined) continue
    if (!allowPrivate && isPrivate(target)) {
      return yield* new SettingError({
        message: `${own === undefined ? "GOTRUE" : "SVC"}_HOOK_${name}_URI is a private address, ${hookUri(target)}: set WEBHOOK_ALLOW_PRIVATE=true to call it`
      })
    }
    hooks[name] = target
  }
  return hooks satisfies Hooks
})

/** Whether an SQL function is called by a function of the service's own, not that of Supabase's schema. */
export const ownHookRunner = Effect.gen(function* () {
  if (yield* supabaseEnabled) return false
  return Object.values(yield* hookSettings).some(({ _tag }) => _tag === "SqlFunction")
})
