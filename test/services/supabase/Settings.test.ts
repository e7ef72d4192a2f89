import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SupabaseSettings } from "../../../src/services/supabase/Settings.ts"

const refusal = (env: Record<string, string>) =>
  Effect.map(
    Effect.flip(
      Layer.build(SupabaseSettings.layer).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))
    ),
    ({ message }) => message
  )

it.effect("settings that need SVC_SUPABASE, or that would let anyone write keys, are refused", () =>
  Effect.gen(function* () {
    const jwtKeys = { SVC_SUPABASE_JWT_KEYS: "true" }
    assert.strictEqual(yield* refusal(jwtKeys), "SVC_SUPABASE_JWT_KEYS requires SVC_SUPABASE=true")
    const url = { SVC_FUNCTIONS_URL: "http://127.0.0.1:9999" }
    assert.strictEqual(yield* refusal(url), "SVC_FUNCTIONS_URL requires SVC_SUPABASE=true")
    const insecure = { SVC_SUPABASE: "true", ...jwtKeys, SVC_JWT_INSECURE_DECODE: "true" }
    assert.match(yield* refusal(insecure), /must not both be true/)
    assert.match(yield* refusal({ SVC_SUPABASE: "true", SVC_FUNCTIONS_URL: "ftp://x" }), /must be an http or https URL/)
  })
)
