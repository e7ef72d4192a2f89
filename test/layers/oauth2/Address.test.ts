import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { oauth2Address } from "../../../src/layers/oauth2/Address.ts"

describe("OAUTH2_ADMIN_URL and OAUTH2_ADMIN_TOKEN", () => {
  const read = (env: Readonly<Record<string, string>>) =>
    oauth2Address.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))

  it.effect("are optional", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* read({}))
      assert.isUndefined(yield* read({ OAUTH2_PUBLIC_URL: "https://o.example.com", OAUTH2_ADMIN_TOKEN: "t" }))
    })
  )

  it.effect("are a URL and a token", () =>
    Effect.gen(function* () {
      const one = yield* read({ OAUTH2_ADMIN_URL: "http://127.0.0.1:4445/" })
      assert.deepStrictEqual(one, { adminUrl: "http://127.0.0.1:4445", token: undefined })
      const two = yield* read({ OAUTH2_ADMIN_URL: "https://gw.example.com/hydra//", OAUTH2_ADMIN_TOKEN: " t0ken\n" })
      assert.strictEqual(two?.adminUrl, "https://gw.example.com/hydra")
      assert.strictEqual(two?.token && Redacted.value(two.token), "t0ken")
    })
  )

  it.effect.each([
    { OAUTH2_ADMIN_URL: "127.0.0.1:4445" },
    { OAUTH2_ADMIN_URL: "ftp://o.example.com" },
    { OAUTH2_ADMIN_URL: "http://u:p@o.example.com" },
    { OAUTH2_ADMIN_URL: "http://o.example.com/?a=b" },
    { OAUTH2_PUBLIC_URL: "nowhere" },
    { OAUTH2_ADMIN_URL: "http://o.example.com", OAUTH2_ADMIN_TOKEN: "two words" },
    { OAUTH2_ADMIN_URL: "http://o.example.com", OAUTH2_ADMIN_TOKEN: "l\nine" }
  ])("refuse %j", (env) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(env))
      const name = Object.keys(env).at(-1) ?? ""
      assert.match(error.message, new RegExp(`^${name} must be [^\n]+$`))
      assert.notMatch(error.message, /two words|u:p@/)
    })
  )
})
