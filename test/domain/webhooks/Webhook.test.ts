import { assert, it } from "vitest"
import { type Webhook, warned } from "../../../src/domain/webhooks/Webhook.ts"

it.each([
  ["http://127.0.0.1:4000/x", true],
  ["http://[::1]/", true],
  ["http://10.0.0.1/", true],
  ["http://169.254.169.254/", true],
  ["http://2130706433/", true],
  ["http://localhost:4000/", true],
  ["http://api.localhost/", true],
  ["https://shop.example.com/", false],
  ["https://localhost.example.com/", false],
  ["https://93.184.216.34/", false]
])("%s: a warning is %s", (url, expected) => {
  const webhook = { url } as Webhook
  assert.strictEqual(warned(webhook, false).warning !== undefined, expected)
  assert.strictEqual(warned(webhook, true).warning, undefined)
})
