import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { FlagSettings } from "../../../src/services/flags/Settings.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.service(FlagSettings).pipe(
    Effect.provide(
      FlagSettings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...env }))))
    )
  )

describe("flag settings", () => {
  it.effect("default to the ports of flagd, production, and the embedded engine", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        { ...(yield* read({})) },
        {
          host: undefined,
          port: 8013,
          httpPort: 8016,
          syncPort: 8015,
          environment: "production",
          hashing: "v2",
          fallback: false,
          corsOrigins: [],
          streams: { connection: 100, address: 1_000 }
        }
      )
    })
  )

  it.effect.each([
    [{ FLAGS_HOST: "flagd" }, { host: "flagd" }],
    [
      { FLAGS_HOST: "::1", FLAGS_PORT: "1", FLAGS_SYNC_PORT: "0" },
      { host: "::1", port: 1, syncPort: 0 }
    ],
    [
      { FLAGS_PORT: "0", FLAGS_HTTP_PORT: "0" },
      { port: 0, httpPort: 0 }
    ],
    [
      { FLAGS_ENVIRONMENT: "dev", SVC_FLAGS_HASHING: "v3" },
      { environment: "dev", hashing: "v3" }
    ],
    [
      { FLAGS_CORS_ORIGINS: "https://a.example, http://localhost:5173" },
      {
        corsOrigins: ["https://a.example", "http://localhost:5173"]
      }
    ],
    [{ FLAGS_CORS_ORIGINS: "*" }, { corsOrigins: ["*"] }]
  ] as const)("take %j", ([env, expected]) =>
    Effect.map(read(env), (settings) => assert.deepInclude(settings, expected as object))
  )

  it.effect.each([
    [{ FLAGS_PORT: "70000" }, /^FLAGS_PORT must be a whole number from 0 to 65535/],
    [{ FLAGS_PORT: "0", FLAGS_HOST: "flagd" }, /^FLAGS_PORT must be a whole number from 1 to 65535/],
    [{ FLAGS_ENVIRONMENT: "prod" }, /^FLAGS_ENVIRONMENT must be one of dev, staging, production/],
    [{ SVC_FLAGS_HASHING: "v1" }, /^SVC_FLAGS_HASHING must be one of v2, v3/],
    [{ SVC_FLAGS_FALLBACK: "yes" }, /^SVC_FLAGS_FALLBACK must be true or false/],
    [{ FLAGS_CORS_ORIGINS: "https://a.example/x" }, /^FLAGS_CORS_ORIGINS must be origins/],
    [{ FLAGS_CORS_ORIGINS: "null" }, /^FLAGS_CORS_ORIGINS must be origins/],
    [{ FLAGS_HOST: "http://flagd" }, /^FLAGS_HOST must be a host name/],
    [{ FLAGS_HOST: "flagd:8013" }, /^FLAGS_HOST must be a host name/],
    [{ FLAGS_HOST: "flagd/x" }, /^FLAGS_HOST must be a host name/]
  ] as const)("refuse %j", ([env, line]) =>
    Effect.map(Effect.flip(read(env)), ({ message }) => assert.match(message, line))
  )
})
