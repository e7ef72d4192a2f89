import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { credentialsOf, hasSessionCookie } from "../../../src/http/access/cookies/SessionCookies.ts"

const read = (cookie: string | undefined) =>
  credentialsOf(cookie).map(({ _tag, value }) => `${_tag} ${Redacted.value(value)}`)

describe("credentialsOf", () => {
  it.each<[string | undefined, ReadonlyArray<string>]>([
    [undefined, []],
    ["", []],
    ["a=b; idp_session=x%3D=; c", ["Cookie x%3D="]],
    ["idp_session=one; svc_session=two", ["Token two", "Cookie one"]],
    [
      "svc_session=planted; idp_session=planted; __Host-idp_session=own",
      ["Cookie own", "Token planted", "Cookie planted"]
    ],
    ["idp_session=own; __Host-idp_session=own", ["Cookie own"]],
    ["svc_session=first;svc_session=second", ["Token first"]],
    ["my_svc_session=x; svc_sessions=y; SVC_SESSION=z", []],
    ["svc_session=", []],
    ["svc_session=a b", []],
    ['svc_session="quoted"', []],
    ["svc_session=caf\u00e9", []],
    ["svc_session=a\u0000b; idp_session=good", ["Cookie good"]],
    [`svc_session=${"x".repeat(4097)}`, []],
    [`idp_session=${"x".repeat(4096)}`, [`Cookie ${"x".repeat(4096)}`]]
  ])("%j", (cookie, credentials) => assert.deepStrictEqual(read(cookie), credentials))

  it("detects session cookies, valid or not", () => {
    assert.isTrue(hasSessionCookie("svc_session=a b"))
    assert.isTrue(hasSessionCookie("x=1; idp_session="))
    assert.isTrue(hasSessionCookie("__Host-idp_session=x"))
    assert.isFalse(hasSessionCookie("x=svc_session=1"))
  })
})
