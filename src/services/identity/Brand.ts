import { Context, Effect, Layer } from "effect"
import { SettingError, text } from "../../domain/Settings.ts"
import { isJsonObject } from "../../domain/text/JsonObject.ts"
import { isPlainText } from "../../domain/text/StorableText.ts"

/** How pages for users show who operates the service. */
export interface Brand {
  readonly name: string | undefined
  /** https only: the policy of pages allows no other images. */
  readonly logoUrl: string | undefined
  /** #rrggbb. */
  readonly color: string | undefined
}

/** The settings of pages for users. */
export class BrandSettings extends Context.Service<
  BrandSettings,
  {
    readonly brand: Brand
    /** Descriptions of scopes for users, by name. */
    readonly scopeDescriptions: Readonly<Record<string, string>>
  }
>()("svc/services/BrandSettings") {
  static readonly layer = Layer.effect(
    BrandSettings,
    Effect.gen(function* () {
      const name = yield* checked("SVC_BRAND_NAME", "1 to 80 characters", (value) => isLabel(value, 80))
      const logoUrl = yield* checked("SVC_BRAND_LOGO_URL", "an https URL", isHttps)
      const color = yield* checked("SVC_BRAND_COLOR", "a colour such as #1f5fbf", (value) =>
        /^#[0-9a-f]{6}$/i.test(value)
      )
      return BrandSettings.of({ brand: { name, logoUrl, color }, scopeDescriptions: yield* scopeDescriptions })
    })
  )
}

const isLabel = (value: string, maxLength: number) =>
  value.trim() !== "" && value.length <= maxLength && isPlainText(value)
const isHttps = (value: string) => URL.canParse(value) && new URL(value).protocol === "https:"

const checked = Effect.fnUntraced(function* (name: string, accepted: string, isValid: (value: string) => boolean) {
  const value = yield* text(name, undefined)
  if (value === undefined || isValid(value)) return value
  return yield* new SettingError({ message: `${name} must be ${accepted}, but it is "${value}"` })
})

/** SVC_SCOPE_DESCRIPTIONS. */
const scopeDescriptions = Effect.gen(function* () {
  const name = "SVC_SCOPE_DESCRIPTIONS"
  const invalid = new SettingError({
    message: `${name} must be a JSON object of texts of up to 200 characters, such as {"orders:read":"See your orders"}`
  })
  const given = yield* text(name, "{}")
  const value = yield* Effect.try({ try: () => JSON.parse(given) as unknown, catch: () => invalid })
  if (!isJsonObject(value)) return yield* invalid
  const descriptions: Record<string, string> = {}
  for (const [scope, description] of Object.entries(value)) {
    if (typeof description !== "string" || !isLabel(description, 200)) return yield* invalid
    descriptions[scope] = description
  }
  return descriptions
})
