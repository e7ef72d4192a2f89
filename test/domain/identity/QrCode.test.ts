import { createHash } from "node:crypto"
import { assert, it } from "vitest"
import { qrCodeOf, qrPath } from "../../../src/domain/identity/QrCode.ts"

const uri =
  "otpauth://totp/localhost:ann%40example.com?secret=ABCDEFGHIJKLMNOPQRSTUVWXYZ234567&issuer=localhost&algorithm=SHA1&digits=6&period=30"

// A scanner (zbar 0.23) has read these four when they were recorded: versions 1, 8, 11 and 16.
it.each([
  ["HELLO", 21, "9e1d4f6311e966866df66f94dcc63666e71de3a4e830125001a62807361d77d1"],
  [uri, 49, "c544a480e4b22543e534a63086ceef3ba99772b6c1bf46017b7358bb11d73c61"],
  ["x".repeat(230), 61, "97135b193c9ac01231191deded812b925f6779558bc2c12b03de543e6669176d"],
  ["y".repeat(440), 81, "3a31a2be50c7f3849f4e80fc4101d0bd0a633ad3250c4ea4f6acb3062d644c27"]
])("the QR code of %j is readable", (text, size, digest) => {
  const code = qrCodeOf(text)!
  assert.lengthOf(code, size)
  assert.strictEqual(createHash("sha256").update(qrPath(code)).digest("hex"), digest)
})

it("a text that is too long has none", () => {
  assert.isDefined(qrCodeOf("z".repeat(450)))
  assert.isUndefined(qrCodeOf("z".repeat(451)))
})
