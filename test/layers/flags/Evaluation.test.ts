import { type JsonObject } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { status } from "@grpc/grpc-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Service as ServiceV1 } from "../../../src/layers/flags/gen/flagd/evaluation/v1/evaluation_pb.ts"
import { Service as ServiceV2 } from "../../../src/layers/flags/gen/flagd/evaluation/v2/evaluation_pb.ts"
import { type FlagServers, onOff, startFlagServers } from "../../support/flags/servers.ts"
import { grpcClient } from "../../support/flags/grpc.ts"

let servers: FlagServers
const plan = { var: "plan" }

beforeAll(async () => {
  servers = await startFlagServers()
  await servers.put("production", {
    on: onOff(),
    off: onOff({ defaultVariant: "off" }),
    gone: onOff({ state: "DISABLED" }),
    text: onOff({
      variants: { empty: "", pro: "é🎉" },
      defaultVariant: "empty",
      targeting: { if: [{ "==": [plan, "pro"] }, "pro", null] }
    }),
    number: onOff({
      variants: { up: 3.7, down: -3.7, zero: 0, big: 9007199254740991 },
      defaultVariant: "up",
      targeting: { if: [{ in: [plan, ["down", "zero", "big"]] }, plan, null] }
    }),
    object: onOff({ variants: { a: { b: [1, { c: null }], "": "" }, none: {} }, defaultVariant: "a" }),
    lost: onOff({ targeting: { cat: ["no", "where"] } }),
    broken: onOff({ targeting: { no_such_operator: [] } }),
    who: onOff({
      variants: { same: true, other: false },
      defaultVariant: "other",
      targeting: { if: [{ "==": [{ var: "__proto__" }, "me"] }, "same", "other"] }
    })
  })
  await servers.put("dev", { on: onOff({ defaultVariant: "off" }), "only-dev": onOff() })
})
afterAll(() => servers.stop())

const transports: Readonly<Record<string, () => Transport>> = {
  gRPC: () => createGrpcTransport({ baseUrl: `http://${servers.evaluation}` }),
  "gRPC-Web over HTTP/1.1": () =>
    createGrpcWebTransport({ baseUrl: `http://${servers.evaluation}`, httpVersion: "1.1" }),
  "gRPC-Web over HTTP/2": () => createGrpcWebTransport({ baseUrl: `http://${servers.evaluation}`, httpVersion: "2" }),
  "Connect over HTTP/1.1": () =>
    createConnectTransport({ baseUrl: `http://${servers.evaluation}`, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect over HTTP/2": () =>
    createConnectTransport({ baseUrl: `http://${servers.evaluation}`, httpVersion: "2", useBinaryFormat: true })
}

/** The error of a call. */
const failure = async (call: Promise<unknown>) => {
  try {
    await call
  } catch (cause) {
    const { code, rawMessage } = ConnectError.from(cause)
    return [code, rawMessage] as const
  }
  throw new Error("The call did not fail")
}

const metadata = { flagSetId: "production", version: "1" }

describe.each(Object.entries(transports))("%s", (_name, transport) => {
  const v1 = () => createClient(ServiceV1, transport())
  const v2 = () => createClient(ServiceV2, transport())

  it("returns values of every type, including false, zero and empty ones", async () => {
    assert.deepInclude(await v1().resolveBoolean({ flagKey: "off" }), {
      value: false,
      variant: "off",
      reason: "STATIC",
      metadata
    })
    assert.deepInclude(await v2().resolveBoolean({ flagKey: "off" }), { value: false, variant: "off", metadata })
    assert.deepInclude(await v2().resolveString({ flagKey: "text" }), {
      value: "",
      variant: "empty",
      reason: "DEFAULT"
    })
    assert.deepInclude(await v1().resolveString({ flagKey: "text", context: { plan: "pro" } }), {
      value: "é🎉",
      reason: "TARGETING_MATCH"
    })
    assert.deepInclude(await v1().resolveFloat({ flagKey: "number" }), { value: 3.7, variant: "up" })
    assert.deepInclude(await v2().resolveFloat({ flagKey: "number", context: { plan: "zero" } }), { value: 0 })
    assert.deepInclude(await v1().resolveObject({ flagKey: "object" }), { value: { b: [1, { c: null }], "": "" } })
  })

  it("truncates fractions for integers, and keeps every digit", async () => {
    for (const client of [v1(), v2()]) {
      assert.deepInclude(await client.resolveInt({ flagKey: "number" }), { value: 3n })
      assert.deepInclude(await client.resolveInt({ flagKey: "number", context: { plan: "down" } }), { value: -3n })
      const { value } = await client.resolveInt({ flagKey: "number", context: { plan: "big" } })
      assert.strictEqual(value, 9007199254740991n)
    }
  })

  it("returns no value of a disabled flag: absent in v2, zero in v1", async () => {
    const two = await v2().resolveBoolean({ flagKey: "gone" })
    assert.deepInclude(two, { reason: "DISABLED", metadata })
    assert.isUndefined(two.value)
    assert.isUndefined(two.variant)
    assert.deepInclude(await v1().resolveBoolean({ flagKey: "gone" }), {
      reason: "DISABLED",
      value: false,
      variant: ""
    })
    // For every type, because there is no value of another one.
    assert.deepInclude(await v1().resolveInt({ flagKey: "gone" }), { reason: "DISABLED", value: 0n })
  })

  it("fails with the codes of flagd", async () => {
    for (const client of [v1(), v2()]) {
      assert.deepStrictEqual(await failure(client.resolveBoolean({ flagKey: "none" })), [
        Code.NotFound,
        "Flag not found"
      ])
      assert.deepStrictEqual(await failure(client.resolveBoolean({ flagKey: "" })), [Code.NotFound, "Flag not found"])
      assert.deepStrictEqual(await failure(client.resolveBoolean({ flagKey: "broken" })), [
        Code.DataLoss,
        "Error parsing input or configuration"
      ])
      assert.deepStrictEqual(await failure(client.resolveBoolean({ flagKey: "lost" })), [Code.Unknown, "General error"])
      for (const call of [
        client.resolveBoolean({ flagKey: "text" }),
        client.resolveString({ flagKey: "number" }),
        client.resolveFloat({ flagKey: "on" }),
        client.resolveInt({ flagKey: "object" }),
        client.resolveObject({ flagKey: "on" })
      ]) {
        assert.deepStrictEqual(await failure(call), [Code.InvalidArgument, "Type mismatch error"])
      }
    }
  })

  it("resolves all flags, disabled and failing ones with the zero value of their type", async () => {
    const all = await v1().resolveAll({ context: { plan: "pro" } })
    assert.deepEqual(all.metadata, metadata)
    const plain = Object.fromEntries(
      Object.entries(all.flags).map(([key, { reason, value, variant }]) => [
        key,
        [reason, variant, value.case, value.value]
      ])
    )
    assert.deepEqual(plain, {
      on: ["STATIC", "on", "boolValue", true],
      off: ["STATIC", "off", "boolValue", false],
      gone: ["DISABLED", "", "boolValue", false],
      text: ["TARGETING_MATCH", "pro", "stringValue", "é🎉"],
      number: ["DEFAULT", "up", "doubleValue", 3.7],
      object: ["STATIC", "a", "objectValue", { b: [1, { c: null }], "": "" }],
      lost: ["ERROR", "", "boolValue", false],
      broken: ["ERROR", "", "boolValue", false],
      who: ["TARGETING_MATCH", "other", "boolValue", false]
    })
  })

  it("takes the environment from the selector", async () => {
    const headers = (selector: string) => ({ headers: { "Flagd-Selector": selector } })
    const dev = await v2().resolveBoolean({ flagKey: "on" }, headers("flagSetId=dev"))
    assert.deepInclude(dev, { value: false, metadata: { flagSetId: "dev", version: "2" } })
    assert.deepInclude(await v1().resolveBoolean({ flagKey: "only-dev" }, headers("dev")), { value: true })
    assert.deepInclude(await v1().resolveBoolean({ flagKey: "on" }, headers("source=production")), { value: true })
    for (const nothing of ["flagSetId=", "flagSetId=qa", "qa"]) {
      assert.strictEqual((await failure(v2().resolveBoolean({ flagKey: "on" }, headers(nothing))))[0], Code.NotFound)
      assert.deepEqual((await v1().resolveAll({}, headers(nothing))).flags, {})
    }
    assert.strictEqual((await failure(v1().resolveAll({}, headers("env=dev"))))[0], Code.InvalidArgument)
    assert.strictEqual(
      (await failure(v2().resolveBoolean({ flagKey: "on" }, headers("env=dev"))))[0],
      Code.InvalidArgument
    )
  })

  it("rejects contexts that are too deep or too large, and accepts any name in them", async () => {
    const nest = (levels: number): JsonObject => (levels === 0 ? {} : { a: nest(levels - 1) })
    assert.deepInclude(await v2().resolveBoolean({ flagKey: "on", context: nest(60) }), { value: true })
    for (const levels of [70, 200]) {
      const [code, text] = await failure(v2().resolveBoolean({ flagKey: "on", context: nest(levels) }))
      assert.strictEqual(code, Code.InvalidArgument)
      assert.match(text, /64 levels/)
    }
    const large = await failure(v2().resolveBoolean({ flagKey: "on", context: { a: "x".repeat(1_000_000) } }))
    assert.strictEqual(large[0], Code.ResourceExhausted)
    const context = JSON.parse(`{"__proto__": "me", "constructor": 1, "$flagd": {"flagKey": "x"}, "": null}`) as object
    assert.deepInclude(await v2().resolveBoolean({ flagKey: "who", context: { ...context } }), { value: true })
    assert.deepInclude(await v2().resolveBoolean({ flagKey: "who", context: {} }), { value: false })
  })
})

describe("gRPC by grpc-js", () => {
  it("answers, fails and rejects numbers that JSON does not have", async () => {
    const client = grpcClient(servers.evaluation)
    const { resolveBoolean } = ServiceV2.method
    assert.deepInclude(await client.call(resolveBoolean, { flagKey: "on" }), { value: true })
    const codeOf = (
      request: Parameters<typeof client.call<typeof resolveBoolean.input, typeof resolveBoolean.output>>[1]
    ) =>
      client.call(resolveBoolean, request).then(
        () => status.OK,
        ({ code }: { readonly code: number }) => code
      )
    assert.strictEqual(await codeOf({ flagKey: "none" }), status.NOT_FOUND)
    assert.strictEqual(await codeOf({ flagKey: "lost" }), status.UNKNOWN)
    assert.strictEqual(await codeOf({ flagKey: "text" }), status.INVALID_ARGUMENT)
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      assert.strictEqual(await codeOf({ flagKey: "on", context: { deep: [{ n: bad }] } }), status.INVALID_ARGUMENT)
    }
    client.close()
  })

  it("does not retry a failing call", async () => {
    // The retry policy of flagd's own clients, with a longer wait, which shows a retry on any machine.
    const policy = {
      methodConfig: [
        {
          name: [{}],
          retryPolicy: {
            maxAttempts: 4,
            initialBackoff: "60s",
            maxBackoff: "60s",
            backoffMultiplier: 2,
            retryableStatusCodes: ["UNAVAILABLE", "UNKNOWN"]
          }
        }
      ]
    }
    const client = grpcClient(servers.evaluation, { "grpc.service_config": JSON.stringify(policy) })
    const before = performance.now()
    await client.call(ServiceV2.method.resolveBoolean, { flagKey: "lost" }).catch(() => undefined)
    assert.isBelow(performance.now() - before, 5_000)
    client.close()
  })

  it("answers UNIMPLEMENTED for unknown methods", async () => {
    const { resolveBoolean } = ServiceV2.method
    const client = grpcClient(servers.evaluation)
    const other = { ...resolveBoolean, name: "ResolveEverything" } as typeof resolveBoolean
    const error = await client.call(other, {}).then(
      () => undefined,
      (cause: { readonly code: number }) => cause
    )
    assert.strictEqual(error?.code, status.UNIMPLEMENTED)
    client.close()
  })
})
