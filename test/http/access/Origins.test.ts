import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isOurs, isSecure, baseUrlOf, refuseCrossSite } from "../../../src/http/access/Origins.ts"

const none = { publicUrl: undefined, dashboardUrl: "https://dash.example/app" }
const request = (method: string, headers: Record<string, string>) => ({ method, headers: headers as never })
const own = (headers: Record<string, string>, settings = none) =>
  Effect.runSync(
    Effect.match(baseUrlOf(request("GET", headers), settings), { onSuccess: String, onFailure: () => 400 })
  )

describe("baseUrlOf and isSecure", () => {
  it("is PUBLIC_URL, else the request's host", () => {
    assert.strictEqual(own({ host: "API.example:3000" }), "http://api.example:3000")
    assert.strictEqual(own({ host: "api.example", "x-forwarded-proto": "https" }), "https://api.example")
    assert.strictEqual(own({ host: "[::1]:3000" }), "http://[::1]:3000")
    const settings = { ...none, publicUrl: "https://api.example/svc" as string | undefined }
    assert.strictEqual(own({ host: "evil.example" }, settings as typeof none), "https://api.example/svc")
  })
  it.each(["", "a/b", "a b", "evil.example/?x=", "user@evil.example", "a#b", "a\r\nb", "-a", "a:99999999"])(
    "rejects the host %j",
    (host) => assert.strictEqual(own({ host }), 400)
  )
  it("is secure only with https", () => {
    assert.isFalse(isSecure(request("GET", { host: "a" }), none))
    assert.isTrue(isSecure(request("GET", { host: "a", "x-forwarded-proto": "https, http" }), none))
    assert.isTrue(isSecure(request("GET", { host: "a" }), { ...none, publicUrl: "https://a" }))
  })
})

describe("isOurs", () => {
  const at = { host: "api.example" }
  it.each<[string, boolean]>([
    ["https://api.example", true],
    ["http://api.example", true],
    ["https://dash.example", true],
    ["http://dash.example", false],
    ["https://api.example.evil.example", false],
    ["https://evil.example", false],
    ["https://api.example:8443", false],
    ["null", false],
    ["", false]
  ])("%s %s", (origin, ours) => assert.strictEqual(isOurs(origin, request("POST", at), none), ours))
  it("ignores the Host header with PUBLIC_URL, and http with https", () => {
    assert.isFalse(isOurs("https://api.example", request("POST", at), { ...none, publicUrl: "https://x.example" }))
    assert.isFalse(isOurs("http://api.example", request("POST", { ...at, "x-forwarded-proto": "https" }), none))
  })
})

describe("refuseCrossSite", () => {
  const cookie = "svc_session=x"
  const json = { "content-type": "application/json; charset=utf-8", "content-length": "2" }
  it.each<[string, string, Record<string, string>, boolean]>([
    ["reading", "GET", { cookie, origin: "https://evil.example" }, true],
    ["no session, no origin", "POST", json, true],
    ["no session, another origin", "POST", { ...json, origin: "https://evil.example" }, false],
    ["a session, a program", "POST", { ...json, cookie }, true],
    ["a session, a program, no body", "DELETE", { cookie }, true],
    ["a session, a program, bytes without a type", "POST", { cookie, "content-length": "2" }, false],
    ["a session, no origin, another site", "POST", { ...json, cookie, "sec-fetch-site": "cross-site" }, false],
    ["a session, no origin, a sibling", "DELETE", { cookie, "sec-fetch-site": "same-site" }, false],
    [
      "a session, no origin, a form without fields",
      "POST",
      { cookie, "content-type": "application/x-www-form-urlencoded", "content-length": "0" },
      false
    ],
    ["a session, another origin", "POST", { ...json, cookie, origin: "https://evil.example" }, false],
    ["a session, a sandbox", "POST", { ...json, cookie, origin: "null" }, false],
    ["a session, the service", "POST", { ...json, cookie, origin: "http://a.example" }, true],
    ["a session, the dashboard", "DELETE", { cookie, origin: "https://dash.example" }, true],
    ["a session, the Referer of the service", "POST", { ...json, cookie, referer: "http://a.example/x?y" }, true],
    ["a session, another Referer", "POST", { ...json, cookie, referer: "http://evil.example/a.example" }, false],
    [
      "Origin takes precedence over Referer",
      "PUT",
      { cookie, origin: "https://evil.example", referer: "http://a.example/" },
      false
    ],
    [
      "a form",
      "POST",
      { cookie, origin: "http://a.example", "content-type": "text/plain", "content-length": "2" },
      false
    ],
    ["bytes without a type", "POST", { cookie, origin: "http://a.example", "transfer-encoding": "chunked" }, false],
    ["an empty body", "POST", { cookie, origin: "http://a.example", "content-length": "0" }, true]
  ])("%s", (_, method, headers, passes) => {
    const exit = Effect.runSyncExit(refuseCrossSite(request(method, { host: "a.example", ...headers }), none))
    assert.strictEqual(exit._tag, passes ? "Success" : "Failure")
  })
})
