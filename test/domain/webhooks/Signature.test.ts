import { Webhook } from "standardwebhooks"
import { assert, it } from "vitest"
import { isSecret, signatureHeaders } from "../../../src/domain/webhooks/Headers.ts"

it("matches test case 2 of RFC 4231 in X-Svc-Signature", () => {
  assert.strictEqual(
    signatureHeaders("Jefe", "msg_1", 1, "what do ya want for nothing?")["x-svc-signature"],
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
  )
})

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

it("matches the example of the Standard Webhooks specification", () => {
  const headers = signatureHeaders(whsec, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
  assert.strictEqual(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
})

it.each([whsec, "hush", "ключ 🔑", "whsec_AA=="])("verifies with the library: %s", (secret) => {
  const body = '{"row":{"text":"é 🎉 \\u0000"}}'
  const headers = signatureHeaders(secret, "msg_1", Math.floor(Date.now() / 1000), body)
  const receiver = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret), { format: "raw" })
  assert.deepStrictEqual(receiver.verify(body, headers), JSON.parse(body))
  assert.throws(() => receiver.verify(body.replace("é", "e"), headers))
})

it("omits signatures without a secret", () => {
  assert.deepStrictEqual(signatureHeaders(null, "msg_1", 7, "{}"), { "webhook-id": "msg_1", "webhook-timestamp": "7" })
})

it("requires Base64 after whsec_, and accepts any other secret", () => {
  for (const good of [whsec, "whsec_AA==", "x", "WHSEC_?", "whsec"]) assert.isTrue(isSecret(good), good)
  for (const bad of ["whsec_", "whsec_?", "whsec_AA", "whsec_AA=", "whsec_AA== ", "whsec_é", "whsec_-_8="]) {
    assert.isFalse(isSecret(bad), bad)
  }
})
