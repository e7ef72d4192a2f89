import { assert, it } from "@effect/vitest"
import { type HttpServerResponse } from "effect/http"
import { decodeQR } from "qr/decode.js"
import { wordsOf } from "../../../src/domain/language/Language.ts"
import { totpPage } from "../../../src/http/pages/accounts/AccountPage.ts"
import { type Visit } from "../../../src/http/pages/accounts/Visit.ts"
import { html } from "../../../src/http/pages/Html.ts"

const visit = { look: { language: "en" }, words: wordsOf("en"), hidden: html``, query: "" } as unknown as Visit

const pageOf = (uri: string) => {
  const response: HttpServerResponse.HttpServerResponse = totpPage(visit, { flowId: "flow", secret: "ABCD", uri })
  assert.strictEqual(response.body._tag, "Uint8Array")
  return new TextDecoder().decode((response.body as { readonly body: Uint8Array }).body)
}

/** What a camera reads in the picture of the page, eight pixels to a unit. */
const scan = (page: string) => {
  const size = Number(/<svg class="qr" viewBox="0 0 (\d+) \1"/.exec(page)?.[1])
  const side = size * 8
  const data = new Uint8Array(side * side * 4).fill(255)
  for (const [, x, y] of page.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let row = 0; row < 8; row++) {
      const start = ((Number(y) * 8 + row) * side + Number(x) * 8) * 4
      data.fill(0, start, start + 32)
    }
  }
  return decodeQR({ width: side, height: side, data })
}

const uri = (account: string) =>
  `otpauth://totp/localhost:${encodeURIComponent(account)}?secret=ABCDEFGHIJKLMNOPQRSTUVWXYZ234567&issuer=localhost&algorithm=SHA1&digits=6&period=30`

it.each(["ann@example.com", "zoë@münchen.example", "x".repeat(254)])("the QR code for %s is readable", (account) => {
  assert.strictEqual(scan(pageOf(uri(account))), uri(account))
})

it("a URI that is too long for a camera is shown without a picture", () => {
  const page = pageOf(uri("x".repeat(1000)))
  assert.notInclude(page, "<svg")
  assert.include(page, "open it there")
})
