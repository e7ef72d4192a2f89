import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { settingFaults } from "../../../src/layers/check/Settings.ts"
import { unknownSettings } from "../../../src/layers/check/UnknownSettings.ts"

it.live("unknown variables are named with the nearest setting", () =>
  Effect.gen(function* () {
    yield* settingFaults.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))))
    assert.deepStrictEqual(
      unknownSettings({
        SVC_DB_POOLSIZE: "4",
        SVC_SQL_TIMEOUT: "4s",
        SVC_RECOVERY_KEY: "x",
        SVC_UNLIKE_ANYTHING_ELSE: "1",
        SVC_SIGN_IN_GITLAB_CLIENT_ID: "1",
        PATH: "/bin",
        // Of a Kubernetes service with the name svc.
        SVC_SERVICE_HOST: "10.0.0.1",
        SVC_SERVICE_PORT_HTTP: "3000",
        SVC_PORT: "tcp://10.0.0.1:3000",
        SVC_PORT_3000_TCP_ADDR: "10.0.0.1"
      }),
      [
        "SVC_DB_POOLSIZE is not a setting of the service: the nearest is SVC_DB_POOL_SIZE",
        "SVC_UNLIKE_ANYTHING_ELSE is not a setting of the service",
        "SVC_SIGN_IN_GITLAB_CLIENT_ID has no effect: SVC_SIGN_IN_WITH does not have gitlab"
      ]
    )
  })
)
