import { createSecretKey, randomBytes } from "node:crypto"
import { assert, describe, it } from "vitest"
import { formatRecoveryKey, newRecoveryKey, parseRecoveryKey } from "../../../src/domain/recovery/RecoveryKey.ts"
import { openObject, sealObject } from "../../../src/domain/recovery/SealedObject.ts"

describe("a sealed object", () => {
  const key = createSecretKey(randomBytes(32))
  const content = Buffer.from("rows of a stranger")
  it("opens with its key and its name alone, and unchanged alone", () => {
    const sealed = sealObject(key, "log/a", content)
    assert.notInclude(sealed.toString("latin1"), "stranger")
    assert.deepStrictEqual(openObject(key, "log/a", sealed), content)
    assert.isUndefined(openObject(key, "log/b", sealed))
    assert.isUndefined(openObject(createSecretKey(randomBytes(32)), "log/a", sealed))
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      assert.isUndefined(openObject(key, "log/a", changed), `byte ${at}`)
      assert.isUndefined(openObject(key, "log/a", sealed.subarray(0, at)), `${at} bytes`)
    }
  })
  it("may be empty", () => {
    assert.deepStrictEqual(openObject(key, "x", sealObject(key, "x", Buffer.alloc(0))), Buffer.alloc(0))
  })
})

describe("a recovery key", () => {
  const key = newRecoveryKey()
  const text = formatRecoveryKey(key)
  it("is read as it was shown, or typed in lower case with other spaces", () => {
    for (const typed of [text, text.toLowerCase(), text.replaceAll("-", ""), ` ${text.replaceAll("-", "  ")}\n`]) {
      assert.deepStrictEqual(parseRecoveryKey(typed), key)
    }
  })
  it("is refused with any character changed, missing or added", () => {
    for (let at = 0; at < text.length; at++) {
      if (text[at] === "-") continue
      const other = text[at] === "A" ? "B" : "A"
      assert.isUndefined(parseRecoveryKey(text.slice(0, at) + other + text.slice(at + 1)))
      assert.isUndefined(parseRecoveryKey(text.slice(0, at) + text.slice(at + 1)))
      assert.isUndefined(parseRecoveryKey(text.slice(0, at) + other + text.slice(at)))
    }
    for (const wrong of ["", "AAAA", "é".repeat(56), "0".repeat(56)]) assert.isUndefined(parseRecoveryKey(wrong))
  })
})
