import { createHash } from "node:crypto"
import { assert, describe, it } from "vitest"
import { type EncryptionKey, readEncryptionKey, seal, unseal } from "../../../src/domain/connections/SealedText.ts"

const keyOf = (byte: number) => readEncryptionKey(Buffer.alloc(32, byte).toString("hex")) as EncryptionKey
const text = "postgres://u:päß@h/db"

describe("an encryption key", () => {
  const bytes = createHash("sha256").update("a").digest()

  it.each([
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    bytes.toString("base64"),
    bytes.toString("base64").replace("=", ""),
    bytes.toString("base64url"),
    ` ${bytes.toString("base64")}\n`
  ])("is read from %j", (written) => {
    const read = readEncryptionKey(written)
    assert.isTrue(read?.key.export().equals(bytes))
    assert.strictEqual(read?.id, readEncryptionKey(bytes.toString("hex"))?.id)
  })

  it.each([
    "",
    "short",
    "a".repeat(32),
    "g".repeat(64),
    bytes.toString("hex").slice(1),
    `${bytes.toString("base64")}A`
  ])("is not %j", (written) => assert.isUndefined(readEncryptionKey(written)))

  it("has a unique id that reveals nothing of it", () => {
    const { id } = keyOf(1)
    assert.match(id, /^[0-9a-f]{16}$/)
    assert.notStrictEqual(id, keyOf(2).id)
    assert.notInclude(JSON.stringify(keyOf(1)), "01010101")
  })
})

describe("a sealed text", () => {
  it("differs each time, contains nothing of the text, and can be decrypted", () => {
    const [one, two] = [seal(keyOf(1), text, "a"), seal(keyOf(1), text, "a")]
    assert.notStrictEqual(one, two)
    assert.notStrictEqual(one.split(".")[2], two.split(".")[2], "the nonce was repeated")
    for (const sealed of [one, two]) {
      assert.notInclude(Buffer.from(sealed.split(".")[3] ?? "", "base64url").toString("latin1"), "postgres")
      assert.deepStrictEqual(unseal([keyOf(1)], sealed, "a"), { text, keyId: keyOf(1).id })
    }
  })

  it("has a nonce of 96 and a tag of 128 bits", () => {
    const [version, , nonce = "", content = ""] = seal(keyOf(1), "x", "a").split(".")
    assert.strictEqual(version, "1")
    assert.lengthOf(Buffer.from(nonce, "base64url"), 12)
    assert.lengthOf(Buffer.from(content, "base64url"), 1 + 16)
  })

  it("can be decrypted with an old key, by its id", () => {
    const sealed = seal(keyOf(1), text, "a")
    assert.deepStrictEqual(unseal([keyOf(2), keyOf(1)], sealed, "a"), { text, keyId: keyOf(1).id })
    assert.deepStrictEqual(unseal([keyOf(2)], sealed, "a"), { problem: "unknown key", keyId: keyOf(1).id })
    assert.deepStrictEqual(unseal([], sealed, "a"), { problem: "unknown key", keyId: keyOf(1).id })
  })

  it("can't be decrypted in another context", () => {
    assert.deepInclude(unseal([keyOf(1)], seal(keyOf(1), text, "a"), "b"), { problem: "damaged" })
  })

  it("can't be decrypted after a change or truncation", () => {
    const sealed = seal(keyOf(1), text, "a")
    for (let i = 0; i < sealed.length; i++) {
      const other = sealed[i] === "A" ? "B" : "A"
      const changed = unseal([keyOf(1)], sealed.slice(0, i) + other + sealed.slice(i + 1), "a")
      // The last character of a Base64 text may have unused bits.
      if ("text" in changed) assert.include([sealed.length - 1], i, "a change was not detected")
      if (i > 0) assert.property(unseal([keyOf(1)], sealed.slice(0, i), "a"), "problem")
    }
    for (const none of ["", "....", "1.a.b.c", `2${sealed.slice(1)}`, `${sealed}.`]) {
      assert.property(unseal([keyOf(1)], none, "a"), "problem", none)
    }
  })
})
