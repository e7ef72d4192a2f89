import { assert, describe, it } from "vitest"
import { readAddress } from "../../../src/domain/identity/Address.ts"
import { isImportableHash, passwordFault } from "../../../src/domain/identity/Password.ts"
import { makeTotpSecret, totpStepOf } from "../../../src/domain/identity/SecondFactors.ts"
import { totpCode } from "../../support/identity/totp.ts"

describe("readAddress", () => {
  it.each([
    ["Ann@Example.com", "Ann@Example.com", "ann@example.com"],
    [" ann@example.com. ", "ann@example.com", "ann@example.com"],
    ["ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ann@example.com", "ann@example.com"],
    ["ann+tag@example.com", "ann+tag@example.com", "ann+tag@example.com"],
    ["zoë@münchen.example", "zoë@münchen.example", "zoë@xn--mnchen-3ya.example"],
    ["zoë@MÜNCHEN.example", "zoë@MÜNCHEN.example", "zoë@xn--mnchen-3ya.example"]
  ])("%j", (text, value, lookup) => assert.deepStrictEqual(readAddress(text), { value, lookup }))

  it.each([
    "",
    "ann",
    "@example.com",
    "ann@",
    "a@b@c",
    "a b@c.example",
    "a@b.example, c@d.example",
    "a@b.example;c@d.example",
    "<a@b.example>",
    '"a"@b.example',
    "a(comment)@b.example",
    "a@[127.0.0.1]",
    "a@b.example\r\nBcc: c@d.example",
    "a\0@b.example",
    "a\u200b@b.example",
    "\ud800@b.example",
    "a\\@b.example",
    `${"x".repeat(250)}@c.example`
  ])("rejects %j", (text) => assert.isUndefined(readAddress(text)))

  it("takes no longer for long texts", () => {
    // Backtracking over a million characters would take many minutes.
    const began = performance.now()
    for (const text of ["@".repeat(1e6), "a".repeat(1e6), `${"a".repeat(253)}@`]) assert.isUndefined(readAddress(text))
    assert.isBelow(performance.now() - began, 5_000)
  })
})

describe("passwordFault", () => {
  it.each([
    "four common words",
    "correct horse",
    "пароль-длинный",
    "密码密码好好学习天天",
    "x7#kP9q!",
    " spaces count "
  ])("accepts %j", (password) => assert.isUndefined(passwordFault(password, "ann@example.com")))
  it.each([
    ["short", /at least 8/],
    ["1234567", /at least 8/],
    ["\u{1F600}".repeat(7), /at least 8/],
    ["x".repeat(257), /at most 256/],
    ["x".repeat(1e6), /at most 256/],
    ["Password123", /attackers/],
    ["ｐａｓｓｗｏｒｄ", /attackers/],
    ["abababababab", /attackers/],
    ["ANN@example.com", /address/],
    ["a\0bcdefgh", /control/],
    ["a\ud800bcdefgh", /surrogate/]
  ] as const)("rejects %j", (password, why) => assert.match(passwordFault(password, "ann@example.com") ?? "", why))
})

describe("isImportableHash", () => {
  const salt = "c2FsdHNhbHRzYWx0"
  const hash = "aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"
  it.each([
    [`$argon2id$v=19$m=19456,t=2,p=1$${salt}$${hash}`, true],
    [`$argon2i$v=19$m=4096,t=3,p=1$${salt}$${hash}`, true],
    [`$argon2id$v=19$m=131073,t=1,p=1$${salt}$${hash}`, false],
    [`$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${hash}`, false],
    [`$argon2id$v=19$m=4096,t=999,p=1$${salt}$${hash}`, false],
    [`$argon2id$v=19$m=4096,t=0,p=1$${salt}$${hash}`, false],
    [`$argon2id$v=19$m=8,t=1,p=8$${salt}$${hash}`, false],
    [`$argon2id$v=19$m=4096,t=1,p=1$${salt}$${hash}\n`, false],
    [`$2b$10$${"a".repeat(53)}`, true],
    [`$2y$04$${"a".repeat(53)}`, true],
    [`$2b$15$${"a".repeat(53)}`, false],
    [`$2b$31$${"a".repeat(53)}`, false],
    [`$2x$10$${"a".repeat(53)}`, false],
    [`$2b$10$${"a".repeat(52)}`, false],
    ["", false],
    ["four common words", false]
  ])("%s: %s", (text, expected) => assert.strictEqual(isImportableHash(text), expected))
})

describe("codes of authenticator apps", () => {
  it.each([
    [59, "287082"],
    [1111111109, "081804"],
    [1234567890, "005924"],
    [20000000000, "353130"]
  ])("at %d s: %s (RFC 6238, appendix B)", (seconds, code) =>
    assert.strictEqual(totpStepOf("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", code, seconds * 1000), Math.floor(seconds / 30))
  )
  it("are valid one step around now", () => {
    const now = 1_800_000_000_000
    for (let turn = 0; turn < 50; turn++) {
      const secret = makeTotpSecret()
      assert.match(secret, /^[A-Z2-7]{32}$/)
      const step = Math.floor(now / 30_000)
      for (const offset of [-1, 0, 1]) {
        assert.strictEqual(totpStepOf(secret, totpCode(secret, now + offset * 30_000), now), step + offset)
      }
      for (const offset of [-2, 2]) {
        const code = totpCode(secret, now + offset * 30_000)
        const near = [-1, 0, 1].map((other) => totpCode(secret, now + other * 30_000))
        if (!near.includes(code)) assert.isUndefined(totpStepOf(secret, code, now))
      }
    }
    for (const code of ["", "12345", "1234567", "abcdef", "１２３４５６", "-12345"]) {
      assert.isUndefined(totpStepOf(makeTotpSecret(), code, now))
    }
  })
})
