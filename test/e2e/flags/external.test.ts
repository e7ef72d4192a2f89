import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { flagEnvironments } from "../../../src/domain/flags/Environment.ts"
import { type FlagStatus } from "../../../src/domain/flags/Evaluation.ts"
import { type Flagd, startFlagd } from "../../fakes/flags/flagd.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { freeFlagPorts } from "../../support/flags/ports.ts"
import { evaluate, flagOf, flags, makeFlag, makeSegment } from "../../support/flags/api.ts"
import { type Service, startService, until } from "../../support/service.ts"

// An external flagd, restarted until the sync port is open, or a fake in this process.
const { FLAGD_TEST_SYNC_PORT: realSyncPort, FLAGD_TEST_URL: realUrl } = process.env
const isReal = realUrl !== undefined && realSyncPort !== undefined

const external = { FLAGS_HOST: "127.0.0.1" }

/** Settings with the ports of flagd and of sync. */
const settings = async () => {
  const free = await freeFlagPorts()
  return isReal
    ? { ...external, ...free, FLAGS_HTTP_PORT: new URL(realUrl).port, FLAGS_SYNC_PORT: realSyncPort }
    : { ...external, ...free }
}

const startFake = (env: Readonly<Record<"FLAGS_HTTP_PORT" | "FLAGS_SYNC_PORT", string>>) =>
  startFlagd({ port: Number(env.FLAGS_HTTP_PORT), syncPort: Number(env.FLAGS_SYNC_PORT) })

const statusOf = async (service: Service) => (await flags(service, "GET /status")).json as FlagStatus
const inSync = ({ connected, error }: FlagStatus) => connected && error === null

const ofrep = (service: Service, path: string, context: object, selector?: string) =>
  ask(service, `POST /ofrep/v1/evaluate/flags${path}`, {
    key: service.anon,
    body: { context },
    ...(selector === undefined ? {} : { headers: { "flagd-selector": selector } })
  })

/** The number of logged outages and recoveries of flagd. */
const outages = (service: Service) => [
  service.output().match(/flagd at 127\.0\.0\.1:\d+ failed: /g)?.length ?? 0,
  service.output().match(/flagd at 127\.0\.0\.1:\d+ recovered after/g)?.length ?? 0
]

describe("FLAGS_HOST", () => {
  let service: Service
  let flagd: Flagd | undefined
  let env: Awaited<ReturnType<typeof settings>>
  const calls = () => flagd?.requests.length ?? Number.NaN

  beforeAll(async () => {
    env = await settings()
    service = await startService({ env })
    if (!isReal) flagd = await startFake(env)
    await makeFlag(service, "ready")
    assert.deepInclude(await until(() => statusOf(service), inSync, 60_000), { connected: true, error: null })
  })
  afterAll(async () => {
    await flagd?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  it("leaves the evaluation ports to flagd, and logs its address", async () => {
    assert.match(service.output(), new RegExp(`Flags: sync on [\\d.]+:${env.FLAGS_SYNC_PORT}`))
    assert.include(service.output(), `Flags are evaluated by flagd at 127.0.0.1:${env.FLAGS_HTTP_PORT}`)
    const status = await statusOf(service)
    assert.deepInclude(status, { engine: "flagd", address: `127.0.0.1:${env.FLAGS_HTTP_PORT}` })
    assert.isAtLeast(status.revision, 1)
  })

  it("evaluates with flagd, including segments and environments, and records the time", async () => {
    await makeSegment(service, "staff", { ends_with: [{ var: "email" }, "@acme.com"] })
    const targeting = {
      if: [{ $ref: "staff" }, "on", { fractional: [{ var: "targetingKey" }, ["on", 0], ["off", 100]] }]
    }
    const { revision } = await makeFlag(service, "external", { targeting })
    const before = calls()
    const staff = { email: "ann@acme.com", targetingKey: "u1" }
    const metadata = { flagSetId: "production", version: String(revision) }
    const on = { key: "external", variant: "on", value: true, reason: "TARGETING_MATCH", metadata }
    assert.deepStrictEqual<unknown>(await evaluate(service, "external", staff), on)
    assert.deepInclude(await evaluate(service, "external", { targetingKey: "u1" }), { variant: "off", value: false })
    assert.deepInclude(await evaluate(service, "external"), { variant: "off", reason: "DEFAULT" })
    if (!isReal) assert.strictEqual(calls() - before, 3)

    const keys = ["external", "ready", "nothing"]
    const bulk = await flags(service, "POST /evaluate/bulk", { flagKeys: keys, context: staff })
    const seen = (bulk.json as { flags: ReadonlyArray<Record<string, unknown>> }).flags
    assert.deepStrictEqual(
      seen.map(({ errorCode, key, variant }) => [key, variant ?? errorCode]),
      [
        ["external", "on"],
        ["ready", "off"],
        ["nothing", "FLAG_NOT_FOUND"]
      ]
    )
    assertRefused(await flags(service, "POST /evaluate", { flagKey: "nothing" }), 404, "FLAG_NOT_FOUND")

    const single = await ofrep(service, "/external", staff)
    assert.deepStrictEqual([single.status, single.json], [200, on])
    assert.strictEqual((await ofrep(service, "/nothing", {})).status, 404)
    const all = (await ofrep(service, "", staff)).json as { flags: ReadonlyArray<{ readonly key: string }> }
    assert.sameMembers(
      all.flags.map(({ key }) => key),
      ["external", "ready"]
    )

    const used = () => flagOf(service, "GET /external")
    assert.isString((await until(used, ({ last_evaluated_at: at }) => at !== null, 20_000)).last_evaluated_at)
  })

  it("evaluates a change once its request has completed, in its environment only", async () => {
    const before = service.output().length
    await makeFlag(service, "switched")
    const only: Record<string, string> = { dev: "a", staging: "b", production: "c" }
    for (const environment of flagEnvironments) {
      const targeting = { if: [{ "==": [{ var: "who" }, only[environment]] }, "on", null] }
      await flagOf(service, `PUT /switched?environment=${environment}`, { targeting })
    }
    for (const environment of flagEnvironments) {
      for (const who of ["a", "b", "c"]) {
        const expected = only[environment] === who ? "TARGETING_MATCH" : "DEFAULT"
        assert.strictEqual((await evaluate(service, "switched", { who }, environment)).reason, expected)
        const direct = await ofrep(service, "/switched", { who }, `flagSetId=${environment}`)
        assert.deepInclude(direct.json, { reason: expected })
      }
    }
    for (let round = 0; round < 20; round++) {
      const { state } = await flagOf(service, "PATCH /switched/toggle?environment=dev")
      assert.strictEqual(state, round % 2 === 0 ? "DISABLED" : "ENABLED")
      const { reason, variant } = await evaluate(service, "switched", { who: "a" }, "dev")
      assert.deepStrictEqual([reason, variant], state === "DISABLED" ? ["DISABLED", "off"] : ["TARGETING_MATCH", "on"])
      assert.strictEqual((await evaluate(service, "switched", { who: "c" })).variant, "on")
    }
    assert.strictEqual((await flags(service, "DELETE /switched")).status, 200)
    assertRefused(await flags(service, "POST /evaluate", { flagKey: "switched" }), 404, "FLAG_NOT_FOUND")
    assert.notInclude(service.output().slice(before), "The flag engine has not loaded revision")
  })

  it.skipIf(isReal)("returns 502 while flagd is stopped, and applies stored changes when it is back", async () => {
    await makeFlag(service, "kept")
    await flagd?.[Symbol.asyncDispose]()
    for (let call = 0; call < 5; call++) {
      assertRefused(await flags(service, "POST /evaluate", { flagKey: "kept" }), 502, "FLAGS_UNAVAILABLE")
    }
    const bulk = { flagKeys: ["kept", "ready"] }
    assertRefused(await flags(service, "POST /evaluate/bulk", bulk), 502, "FLAGS_UNAVAILABLE")
    for (const path of ["/kept", ""]) assertRefused(await ofrep(service, path, {}), 502, "FLAGS_UNAVAILABLE")
    assert.deepInclude(await statusOf(service), { connected: false, error: "flagd is unreachable" })
    assert.deepInclude(await flagOf(service, "PUT /kept", { defaultVariant: "on" }), { defaultVariant: "on" })
    const ready = await ask(service, "GET /readyz")
    assert.deepStrictEqual([ready.status, ready.json], [200, { status: "ok", flags: "degraded" }])
    const { json } = await ask(service, "GET /v1/status", { key: service.service_role })
    assert.deepInclude(json as object, { status: "degraded", flags: { status: "degraded" } })
    assert.deepStrictEqual(outages(service), [1, 0])

    flagd = await startFake(env)
    await until(() => statusOf(service), inSync)
    assert.deepInclude(await evaluate(service, "kept"), { variant: "on", reason: "STATIC" })
    assert.deepStrictEqual(
      await until(
        async () => outages(service),
        ([, back]) => back === 1
      ),
      [1, 1]
    )
  })

  it.skipIf(isReal)("syncs flagd again after a restart of the service; flagd keeps its flags meanwhile", async () => {
    await service.stop()
    const direct = await fetch(`http://127.0.0.1:${env.FLAGS_HTTP_PORT}/ofrep/v1/evaluate/flags/kept`, {
      method: "POST",
      headers: { "flagd-selector": "flagSetId=production" },
      body: `{"context":{}}`
    })
    assert.deepInclude(await direct.json(), { variant: "on" })
    await using again = await startService({ env, dataDir: service.dataDir, jwtSecret: service.jwtSecret })
    await until(() => statusOf(again), inSync)
    assert.deepInclude(await evaluate(again, "kept"), { variant: "on" })
    await flagOf(again, "PATCH /kept/toggle")
    const after = await until(
      () => evaluate(again, "kept"),
      ({ reason }) => reason === "DISABLED"
    )
    assert.strictEqual(after.reason, "DISABLED")
  })
})

describe.skipIf(isReal)("SVC_FLAGS_FALLBACK", () => {
  it("evaluates in the service while flagd is unreachable, and in flagd afterwards", async () => {
    const env = await settings()
    await using service = await startService({ env: { ...env, SVC_FLAGS_FALLBACK: "true" } })
    await makeFlag(service, "safe", { defaultVariant: "on" })
    assert.deepInclude(await evaluate(service, "safe"), { variant: "on", reason: "STATIC" })
    await flagOf(service, "PUT /safe", { targeting: { if: [{ "==": [{ var: "n" }, 1] }, "off"] } })
    assert.deepInclude(await evaluate(service, "safe", { n: 1 }), { variant: "off", reason: "TARGETING_MATCH" })
    assert.deepInclude((await ofrep(service, "/safe", {})).json, { variant: "on", reason: "DEFAULT" })
    const away = "flagd is unreachable; this process evaluates in the meantime"
    assert.deepInclude(await statusOf(service), { engine: "flagd", connected: false, error: away })
    assert.deepStrictEqual(outages(service), [1, 0])

    await using flagd = await startFake(env)
    await until(
      async () => outages(service),
      ([, back]) => back === 1
    )
    assert.deepStrictEqual(outages(service), [1, 1])
    const before = flagd.requests.length
    assert.deepInclude(await evaluate(service, "safe", { n: 1 }), { variant: "off", reason: "TARGETING_MATCH" })
    assert.strictEqual(flagd.requests.length - before, 1)
  })
})
