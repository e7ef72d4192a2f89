import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { EnvironmentSettings } from "../../../src/services/environments/Settings.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.service(EnvironmentSettings).pipe(
    Effect.provide(
      EnvironmentSettings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...env }))))
    )
  )

describe("settings of environments", () => {
  it.effect("default to one environment in a project `default`", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        { ...(yield* read({})) },
        { project: { id: "default", schema: "project", bucket: "project" }, limit: 1, owner: "postgres" }
      )
      const env = {
        SVC_PROJECT_ID: "shop",
        SVC_PROJECT_SCHEMA: "shop_1",
        SVC_PROJECT_BUCKET: "my.shop-1",
        SVC_MAX_ENVIRONMENTS: "1000",
        SVC_SERVICE_ROLE: "owner"
      }
      assert.deepStrictEqual(
        { ...(yield* read(env)) },
        { project: { id: "shop", schema: "shop_1", bucket: "my.shop-1" }, limit: 1000, owner: "owner" }
      )
    })
  )

  it.effect.each([
    ["SVC_PROJECT_ID", "a/b", "letters, digits"],
    ["SVC_PROJECT_SCHEMA", "pg", "no prefix of a system schema"],
    ["SVC_PROJECT_SCHEMA", "My-App", "lower-case letters, digits and `_`"],
    ["SVC_PROJECT_BUCKET", "my_app", "S3 bucket name"],
    ["SVC_MAX_ENVIRONMENTS", "0", "a whole number from 1 to 1000"]
  ] as const)("%s=%s is refused", ([name, value, allowed]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read({ [name]: value }))
      assert.match(message, new RegExp(`^${name} must be `))
      assert.include(message, allowed)
      assert.include(message, `"${value}"`)
    })
  )
})
