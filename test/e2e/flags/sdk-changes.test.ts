import { ProviderEvents, ProviderStatus } from "@openfeature/server-sdk"
import { ProviderEvents as WebProviderEvents } from "@openfeature/web-sdk"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { flagPorts, freeFlagPorts } from "../../support/flags/ports.ts"
import { flagOf, makeFlag } from "../../support/flags/api.ts"
import { clientOf, closeClients, providerNames, webClientOf, webProviderNames } from "../../support/flags/sdks.ts"
import { type Service, startService, until } from "../../support/service.ts"

let service: Service

beforeAll(async () => {
  service = await startService({ env: await freeFlagPorts() })
})
afterAll(async () => {
  await closeClients()
  await service.stop()
  await service[Symbol.asyncDispose]()
})

describe("a change", () => {
  it.each(providerNames)("is seen by %s", async (name) => {
    const key = `change-${providerNames.indexOf(name)}`
    await makeFlag(service, key, { defaultVariant: "on" })
    const client = await clientOf(service, name)
    const changed: Array<string> = []
    client.addHandler(ProviderEvents.ConfigurationChanged, (event) => changed.push(...(event?.flagsChanged ?? [])))
    assert.strictEqual(await client.getBooleanValue(key, false), true)
    await flagOf(service, `PUT /${key}`, { defaultVariant: "off" })
    const value = () => client.getBooleanValue(key, true)
    assert.strictEqual(await until(value, (now) => !now, 1_000), false)
    await flagOf(service, `PATCH /${key}/toggle`)
    assert.strictEqual(await until(value, (now) => now, 1_000), true)
    // Pure OFREP has no change events: it requests each evaluation.
    if (!name.startsWith("flagd")) return
    const seen = await until(
      async () => changed,
      (all) => all.includes(key),
      1_000
    )
    // Not the others, which did not change.
    assert.deepEqual(Array.from(new Set(seen)), [key])
  })

  it.each(webProviderNames)("is seen by %s", async (name) => {
    const key = `web-change-${webProviderNames.indexOf(name)}`
    await makeFlag(service, key, { defaultVariant: "on" })
    const client = await webClientOf(service, name)
    let changes = 0
    client.addHandler(WebProviderEvents.ConfigurationChanged, () => changes++)
    assert.isTrue(client.getBooleanValue(key, false))
    await flagOf(service, `PUT /${key}`, { defaultVariant: "off" })
    assert.isAbove(
      await until(
        async () => changes,
        (count) => count > 0,
        2_000
      ),
      0
    )
    assert.isFalse(
      await until(
        async () => client.getBooleanValue(key, true),
        (now) => !now,
        2_000
      )
    )
  })

  it("in another environment reaches providers that select it, and no others", async () => {
    await makeFlag(service, "elsewhere")
    for (const name of ["flagd by RPC", "flagd in process"] as const) {
      const [dev, production] = [await clientOf(service, `${name}, of dev`), await clientOf(service, name)]
      const state = (await flagOf(service, "GET /elsewhere?environment=dev")).defaultVariant
      const next = state === "on" ? "off" : "on"
      // The caching provider keeps its result.
      assert.strictEqual(await dev.getBooleanValue("elsewhere", true), state === "on")
      await flagOf(service, "PUT /elsewhere?environment=dev", { defaultVariant: next })
      const now = () => dev.getBooleanValue("elsewhere", state === "on")
      assert.strictEqual(await until(now, (value) => value === (next === "on"), 1_000), next === "on")
      assert.isFalse(await production.getBooleanValue("elsewhere", true))
    }
  })
})

describe("the service restarted on the same ports", () => {
  it("makes providers stale, then ready, and no provider serves old values silently", async () => {
    await makeFlag(service, "restarted", { defaultVariant: "on" })
    const clients = await Promise.all(
      (["flagd by RPC, with its cache", "flagd in process"] as const).map((name) => clientOf(service, name))
    )
    const received = clients.map((client) => {
      const events: Array<string> = []
      for (const event of [ProviderEvents.Stale, ProviderEvents.Ready, ProviderEvents.Error]) {
        client.addHandler(event, () => events.push(event))
      }
      return events
    })
    for (const client of clients) assert.isTrue(await client.getBooleanValue("restarted", false))
    for (const events of received) events.length = 0

    const { evaluation, ofrep, sync } = flagPorts(service)
    const { dataDir } = service
    const end = await service.stop()
    assert.strictEqual(end.code, 0, end.output)
    const stale = async () => received.every((events) => events.includes(ProviderEvents.Stale))
    assert.isTrue(await until(stale, Boolean, 2_000), "STALE at once")
    for (const client of clients) assert.notStrictEqual(client.providerStatus, ProviderStatus.READY)

    service = await startService({
      dataDir,
      env: { FLAGS_PORT: `${evaluation}`, FLAGS_HTTP_PORT: `${ofrep}`, FLAGS_SYNC_PORT: `${sync}` }
    })
    await flagOf(service, "PUT /restarted", { defaultVariant: "off" })
    // The providers wait 5 s before they reconnect.
    const ready = async () => received.every((events) => events.at(-1) === ProviderEvents.Ready)
    assert.isTrue(await until(ready, Boolean, 20_000), JSON.stringify(received))
    for (const client of clients) {
      assert.strictEqual(client.providerStatus, ProviderStatus.READY)
      assert.isFalse(await client.getBooleanValue("restarted", true))
    }
  }, 60_000)
})
